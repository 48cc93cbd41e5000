#include "engine/onnx/loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using base::Status;
using graph::TensorId;

namespace {

bool isLossNode(const ModelNode& node) {
  return node.op == "SoftmaxCrossEntropyLoss" || node.op == "NegativeLogLikelihoodLoss";
}

/// The input of the graph that a value comes from, possibly through a Cast.
ValueId inputBehind(const ModelGraph& graph, ValueId value) {
  for (const ModelNode& node : graph.nodes) {
    if (node.op == "Cast" && !node.outputs.empty() && node.outputs[0] == value && !node.inputs.empty())
      value = node.inputs[0];
  }
  return std::ranges::find(graph.inputs, value) != graph.inputs.end() ? value : ValueId();
}

/// Labels come as int32. If the file uses another type, a Cast follows.
void takeLabelsAsInt32(ModelGraph& graph, ValueId labels) {
  ModelValue& value = graph.values[static_cast<std::size_t>(labels.value)];
  if (value.element == ElementType::int32) return;
  const ElementType asked = value.element.value_or(ElementType::int64);
  const ValueId cast(static_cast<std::int64_t>(graph.values.size()));
  ModelValue made = value;
  made.name += "/cast";
  value.element = ElementType::int32;
  graph.values.push_back(std::move(made));
  for (ModelNode& node : graph.nodes) std::ranges::replace(node.inputs, labels, cast);
  // ONNX's numbers of the two types that a loss in a file may read.
  const std::int64_t to = asked == ElementType::int64 ? 7 : 6;
  ModelNode node{"Cast", "labels/Cast", {labels}, {cast}, {{"to", to}}, {}};
  graph.nodes.insert(graph.nodes.begin(), std::move(node));
}

/// Everything that a value is computed from, including itself.
std::set<ValueId> behind(const ModelGraph& graph, ValueId value) {
  std::set<ValueId> found{value};
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const ModelNode& node = graph.nodes[i];
    if (std::ranges::none_of(node.outputs, [&](ValueId output) { return found.contains(output); })) continue;
    found.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [name, body] : node.bodies) {
      for (const auto& [outer, inner] : body->captured) found.insert(outer);
    }
  }
  return found;
}

/// Uses an output that the file declares as one real number, next to another output, as a loss that is made
/// of other operators. Inputs that only this output reads are labels; they come last, or are left out with
/// the loss.
bool useScalarLoss(ModelGraph& graph, bool training) {
  const auto isScalar = [&graph](ValueId id) {
    const ModelValue& value = graph.value(id);
    return value.element == ElementType::float32 && value.shape && value.shape->empty();
  };
  const auto loss = std::ranges::find_if(graph.outputs, isScalar);
  const auto scores = std::ranges::find_if_not(graph.outputs, isScalar);
  if (loss == graph.outputs.end() || scores == graph.outputs.end()) return false;
  const ValueId lossId = *loss, scoresId = *scores;
  const std::set<ValueId> needed = behind(graph, scoresId);
  const auto labels =
      std::ranges::stable_partition(graph.inputs, [&](ValueId id) { return needed.contains(id); });
  if (!training) {
    graph.inputs.erase(labels.begin(), labels.end());
    std::erase_if(graph.nodes, [&](const ModelNode& node) {
      return std::ranges::none_of(node.outputs, [&](ValueId id) { return needed.contains(id); });
    });
  }
  graph.outputs = training ? std::vector<ValueId>{scoresId, lossId} : std::vector<ValueId>{scoresId};
  return true;
}

/// Uses the loss node of the model. Outputs become its scores and, in training, the loss.
Status useOwnLoss(Model& model, bool training) {
  ModelGraph& graph = model.graph;
  const auto found = std::ranges::find_if(graph.nodes, [&](const ModelNode& node) {
    return isLossNode(node) && node.inputs.size() >= 2 && !node.outputs.empty() &&
           std::ranges::find(graph.outputs, node.outputs[0]) != graph.outputs.end();
  });
  if (found == graph.nodes.end()) {
    if (useScalarLoss(graph, training)) return {};
    return badInput(
        fmt::format("{}: none of its outputs is made by SoftmaxCrossEntropyLoss or "
                    "NegativeLogLikelihoodLoss, or declared as one float32 beside an output of "
                    "predictions, so it has no loss of its own: choose another training.loss.",
                    model.file));
  }
  const ValueId labels = inputBehind(graph, found->inputs[1]), scores = found->inputs[0],
                loss = found->outputs[0];
  if (!labels.valid())
    return badInput(fmt::format("{}: {} {} does not read its labels from an input of the model.", model.file,
                                found->op, found->name));
  graph.outputs = training ? std::vector<ValueId>{scores, loss} : std::vector<ValueId>{scores};
  std::erase(graph.inputs, labels);
  if (!training) {
    graph.nodes.erase(found);
    return {};
  }
  graph.inputs.push_back(labels);
  takeLabelsAsInt32(graph, labels);
  return {};
}

/// Adds loss nodes after the predictions.
class LossWriter {
 public:
  LossWriter(const Model& model, graph::Graph& graph, const ops::OperatorRegistry& registry)
      : model_(model), graph_(graph), registry_(registry) {}

  Status write(const std::string& loss) {
    const graph::TensorType predictions = graph_.tensor(graph_.outputs[0]).type;
    if (loss == "cross_entropy") return writeClasses("SoftmaxCrossEntropyLoss", predictions);
    if (loss == "nll") return writeClasses("NegativeLogLikelihoodLoss", predictions);
    return writeNumbers(loss, predictions);
  }

 private:
  Status writeClasses(const std::string& op, const graph::TensorType& predictions) {
    if (predictions.shape.size() < 2)
      return badInput(
          fmt::format("{}: its first output is {}; a loss of classes needs an axis of classes behind the "
                      "batch.",
                      model_.file, graph::toString(predictions)));
    graph::Shape shape = predictions.shape;
    shape.erase(shape.begin() + 1);
    const TensorId labels = addLabels({ElementType::int32, shape});
    PIPESCOPE_ASSIGN(graph_.loss, add(op, "loss", {graph_.outputs[0], labels}, {}));
    return {};
  }

  Status writeNumbers(const std::string& loss, const graph::TensorType& predictions) {
    if (predictions.element != ElementType::float32) {
      return badInput(fmt::format("{}: its first output is of {}; this loss is for float32.", model_.file,
                                  graph::toString(predictions.element)));
    }
    const TensorId numbers = addLabels(predictions);
    const TensorId p = graph_.outputs[0];
    TensorId each;
    if (loss == "mse") {
      PIPESCOPE_ASSIGN(const TensorId distance, add("Sub", "loss/difference", {p, numbers}, {}));
      PIPESCOPE_ASSIGN(each, add("Mul", "loss/square", {distance, distance}, {}));
    } else {
      PIPESCOPE_ASSIGN(each, binaryCrossEntropy(p, numbers));
    }
    PIPESCOPE_ASSIGN(graph_.loss, add("ReduceMean", "loss", {each}, {{"keepdims", std::int64_t{0}}}));
    return {};
  }

  /// −(t·ln p + (1 − t)·ln(1 − p)), with logarithms of at least −100.
  Result<TensorId> binaryCrossEntropy(TensorId p, TensorId t) {
    const TensorId one = constant("loss/one", 1), least = constant("loss/least", -100);
    PIPESCOPE_ASSIGN(const TensorId q, add("Sub", "loss/rest", {one, p}, {}));
    PIPESCOPE_ASSIGN(const TensorId u, add("Sub", "loss/rest_of_label", {one, t}, {}));
    PIPESCOPE_ASSIGN(const TensorId rawP, add("Log", "loss/log", {p}, {}));
    PIPESCOPE_ASSIGN(const TensorId rawQ, add("Log", "loss/log_of_rest", {q}, {}));
    PIPESCOPE_ASSIGN(const TensorId logP, add("Clip", "loss/cut", {rawP, least}, {}));
    PIPESCOPE_ASSIGN(const TensorId logQ, add("Clip", "loss/cut_of_rest", {rawQ, least}, {}));
    PIPESCOPE_ASSIGN(const TensorId first, add("Mul", "loss/product", {t, logP}, {}));
    PIPESCOPE_ASSIGN(const TensorId second, add("Mul", "loss/product_of_rest", {u, logQ}, {}));
    PIPESCOPE_ASSIGN(const TensorId sum, add("Add", "loss/sum", {first, second}, {}));
    return add("Neg", "loss/negative", {sum}, {});
  }

  TensorId addLabels(const graph::TensorType& type) {
    const TensorId labels = graph_.addTensor(free("labels"), type, graph::TensorRole::input);
    graph_.inputs.push_back(labels);
    return labels;
  }

  TensorId constant(const std::string& name, float value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return graph_.addConstant(free(name), {ElementType::float32, {}}, std::move(bytes));
  }

  Result<TensorId> add(const std::string& op, const std::string& name, std::vector<TensorId> inputs,
                       graph::Attributes attributes) {
    graph::Node node;
    node.op = op;
    node.name = name;
    while (std::ranges::find(graph_.nodes(), node.name, &graph::Node::name) != graph_.nodes().end())
      node.name += "_";
    node.block = graph_.nodes().empty() ? "model" : graph_.nodes().back().block;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    const std::string output = free(node.name + "/out");
    PIPESCOPE_ASSIGN(
        const std::vector<TensorId> made,
        ops::appendNode(graph_, std::move(node), {output}, graph::TensorRole::activation, registry_));
    return made[0];
  }

  std::string free(std::string name) const {
    while (std::ranges::find(graph_.tensors(), name, &graph::Tensor::name) != graph_.tensors().end())
      name += "_";
    return name;
  }

  const Model& model_;
  graph::Graph& graph_;
  const ops::OperatorRegistry& registry_;
};

}  // namespace

const std::vector<std::string>& lossNames() {
  static const std::vector<std::string> names{"cross_entropy", "nll", "mse", "bce", "model"};
  return names;
}

Result<Instance> instantiateWithLoss(const Model& model, const ops::OperatorRegistry& registry,
                                     const TrainingModelOptions& options) {
  if (std::ranges::find(lossNames(), options.loss) == lossNames().end())
    return badInput(
        fmt::format("the loss {} is not known; known are {}", options.loss, fmt::join(lossNames(), ", ")));
  const bool training = options.instantiate.training, own = options.loss == "model";
  Model prepared = model;
  if (own) PIPESCOPE_TRY(useOwnLoss(prepared, training));
  PIPESCOPE_ASSIGN(Instance instance, instantiate(prepared, registry, options.instantiate));
  graph::Graph& graph = instance.graph;
  if (graph.outputs.empty()) return badInput(model.file + " has no outputs.");
  if (own && training) {
    graph.loss = graph.outputs[1];
    graph.outputs = {graph.outputs[0]};
  } else if (training) {
    PIPESCOPE_TRY(LossWriter(model, graph, registry).write(options.loss));
  }
  PIPESCOPE_TRY(ops::checkShapes(graph, registry));
  return instance;
}

}  // namespace pipescope::onnx
