#include "engine/onnx/loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/onnx/class_axis.h"
#include "engine/onnx/own_loss.h"

namespace pipescope::onnx {

using base::badInput;
using base::Result;
using base::Status;
using graph::TensorId;

namespace {

/// Adds loss nodes after the predictions.
class LossWriter {
 public:
  LossWriter(const Model& model, graph::Graph& graph, const ops::OperatorRegistry& registry,
             const TrainingModelOptions& options)
      : model_(model), graph_(graph), registry_(registry), options_(options) {}

  Status write() {
    const std::string& loss = options_.loss;
    const graph::TensorType predictions = graph_.tensor(graph_.outputs[0]).type;
    if (loss == "cross_entropy") return writeClasses("SoftmaxCrossEntropyLoss", predictions);
    if (loss == "nll") return writeClasses("NegativeLogLikelihoodLoss", predictions);
    return writeNumbers(loss, predictions);
  }

 private:
  Status writeClasses(const std::string& op, const graph::TensorType& predictions) {
    if (predictions.shape.empty())
      return badInput(fmt::format(
          "{}: its first output is one {}, so it scores no classes. If it is the loss, set training.loss to "
          "\"model\"; otherwise choose another loss.",
          model_.file, graph::toString(predictions)));
    if (predictions.shape.size() < 2)
      return badInput(
          fmt::format("{}: its first output is {}; a loss of classes needs an axis of classes behind the "
                      "batch.",
                      model_.file, graph::toString(predictions)));
    TensorId scores = graph_.outputs[0];
    const std::size_t axis = classAxis(graph_, scores);
    graph::Shape shape = predictions.shape;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    // Rows of all positions of all samples: a sample has several labels.
    const std::int64_t batch = options_.instantiate.microBatch;
    const bool flat = shape.size() == 1 && shape[0] > batch && shape[0] % batch == 0;
    TensorId labels = addLabels({ElementType::int32, flat ? graph::Shape{batch, shape[0] / batch} : shape});
    if (axis != 1) PIPESCOPE_TRY(putClassesSecond(axis, scores));
    const graph::Shape wanted = withoutClasses(graph_.tensor(scores).type.shape);
    if (graph_.tensor(labels).type.shape != wanted) {
      PIPESCOPE_ASSIGN(labels, reshaped("loss/labels", labels, wanted));
    }
    PIPESCOPE_ASSIGN(graph_.loss,
                     add(op, "loss", {scores, labels}, {{"ignore_index", options_.ignoredLabel}}));
    return {};
  }

  /// Moves the classes to axis 1, where the loss operators take them. If they lie along the last axis, the
  /// axes before it become one.
  Status putClassesSecond(std::size_t axis, TensorId& scores) {
    const graph::Shape shape = graph_.tensor(scores).type.shape;
    if (axis + 1 == shape.size()) {
      PIPESCOPE_ASSIGN(
          scores, reshaped("loss/scores", scores, {graph::elementCount(shape) / shape.back(), shape.back()}));
      return {};
    }
    std::vector<std::int64_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(axis));
    order.insert(order.begin() + 1, static_cast<std::int64_t>(axis));
    PIPESCOPE_ASSIGN(scores, add("Transpose", "loss/scores", {scores}, {{"perm", order}}));
    return {};
  }

  static graph::Shape withoutClasses(graph::Shape shape) {
    shape.erase(shape.begin() + 1);
    return shape;
  }

  Result<TensorId> reshaped(const std::string& name, TensorId id, const graph::Shape& shape) {
    std::vector<std::byte> bytes(shape.size() * sizeof(std::int64_t));
    std::memcpy(bytes.data(), shape.data(), bytes.size());
    const TensorId extents =
        graph_.addConstant(free(name + "/shape"),
                           {ElementType::int64, {static_cast<std::int64_t>(shape.size())}}, std::move(bytes));
    return add("Reshape", name, {id, extents}, {});
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
  const TrainingModelOptions& options_;
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
  const bool named = own && training && !options.lossOutput.empty();
  if (named) PIPESCOPE_TRY(useLossOutput(prepared, options.lossOutput));
  if (own && !named) PIPESCOPE_TRY(useOwnLoss(prepared, training));
  PIPESCOPE_ASSIGN(Instance instance, instantiate(prepared, registry, options.instantiate));
  graph::Graph& graph = instance.graph;
  if (graph.outputs.empty()) return badInput(model.file + " has no outputs.");
  if (own && training) {
    graph.loss = graph.outputs.back();
    graph.outputs.pop_back();
  } else if (training) {
    PIPESCOPE_TRY(LossWriter(model, graph, registry, options).write());
  }
  PIPESCOPE_TRY(ops::checkShapes(graph, registry));
  return instance;
}

}  // namespace pipescope::onnx
