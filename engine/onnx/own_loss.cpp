#include "engine/onnx/own_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace pipescope::onnx {

using base::badInput;
using base::Status;

namespace {

bool isLossNode(const OnnxNode& node) {
  return node.op == "SoftmaxCrossEntropyLoss" || node.op == "NegativeLogLikelihoodLoss";
}

bool isOutput(const OnnxGraph& graph, ValueId id) {
  return std::ranges::find(graph.outputs, id) != graph.outputs.end();
}

/// The loss node whose result is an output of the model; null: there is none.
const OnnxNode* lossNodeOf(const OnnxGraph& graph) {
  const auto found = std::ranges::find_if(graph.nodes, [&](const OnnxNode& node) {
    return isLossNode(node) && node.inputs.size() >= 2 && !node.outputs.empty() &&
           isOutput(graph, node.outputs[0]);
  });
  return found == graph.nodes.end() ? nullptr : &*found;
}

bool isDeclaredScalar(const OnnxGraph& graph, ValueId id) {
  const ModelValue& value = graph.value(id);
  return value.element == ElementType::float32 && value.shape && value.shape->empty();
}

/// Everything that a value is computed from, including itself.
std::set<ValueId> behind(const OnnxGraph& graph, ValueId value) {
  std::set<ValueId> found{value};
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const OnnxNode& node = graph.nodes[i];
    if (std::ranges::none_of(node.outputs, [&](ValueId output) { return found.contains(output); })) continue;
    found.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [name, body] : node.bodies) {
      for (const auto& [outer, inner] : body->captured) found.insert(outer);
    }
  }
  return found;
}

/// True for operators that only arrange the elements of their first input.
bool arranges(const std::string& op) {
  constexpr const char* kOps[] = {"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Identity"};
  return std::ranges::find(kOps, op) != std::end(kOps);
}

/// The predictions that a loss node scores, as the model made them before it arranged them for the loss.
ValueId predictionsBehind(const OnnxGraph& graph, ValueId scores) {
  while (!isOutput(graph, scores)) {
    const auto maker = std::ranges::find_if(graph.nodes, [&](const OnnxNode& node) {
      return std::ranges::find(node.outputs, scores) != node.outputs.end();
    });
    if (maker == graph.nodes.end() || !arranges(maker->op) || maker->inputs.empty() ||
        !maker->inputs[0].valid())
      break;
    scores = maker->inputs[0];
  }
  return scores;
}

/// Labels come as int32. If the file uses another whole number, a Cast follows.
void takeLabelsAsInt32(OnnxGraph& graph, ValueId labels) {
  ModelValue& value = graph.values[labels];
  const ElementType asked = value.element.value_or(ElementType::int64);
  if (asked != ElementType::int64) return;
  const ValueId cast(static_cast<std::int64_t>(graph.values.size()));
  ModelValue made = value;
  made.name += "/cast";
  value.element = ElementType::int32;
  graph.values.push_back(std::move(made));
  for (OnnxNode& node : graph.nodes) std::ranges::replace(node.inputs, labels, cast);
  constexpr std::int64_t kOnnxInt64 = 7;
  OnnxNode node{"Cast", "labels/Cast", {labels}, {cast}, {{"to", kOnnxInt64}}, {}};
  graph.nodes.insert(graph.nodes.begin(), std::move(node));
}

/// Keeps the predictions and, in training, the loss as outputs. Moves inputs that only the loss reads to the
/// end, or leaves them out with the nodes of the loss. Returns the last of them, if there is one.
ValueId arrange(OnnxGraph& graph, ValueId predictions, ValueId loss, bool training) {
  const std::set<ValueId> needed = behind(graph, predictions), ofLoss = behind(graph, loss);
  // clang 14 cannot compile std::ranges::stable_partition with the library of g++ 12.
  const auto labels = std::stable_partition(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) {
    return needed.contains(id) || !ofLoss.contains(id);
  });
  const ValueId last = labels == graph.inputs.end() ? ValueId() : graph.inputs.back();
  graph.outputs = training ? std::vector<ValueId>{predictions, loss} : std::vector<ValueId>{predictions};
  if (training) return last;
  graph.inputs.erase(labels, graph.inputs.end());
  std::erase_if(graph.nodes, [&](const OnnxNode& node) {
    return std::ranges::none_of(node.outputs, [&](ValueId id) { return needed.contains(id); });
  });
  return {};
}

/// Finds all values whose elements are computed from an input, including itself. Values that only depend on
/// its shape are left out.
std::set<ValueId> ahead(const OnnxGraph& graph, ValueId input) {
  std::set<ValueId> found{input};
  for (const OnnxNode& node : graph.nodes) {
    if (node.op == "Shape" || node.op == "Size") continue;
    if (std::ranges::any_of(node.inputs, [&](ValueId id) { return found.contains(id); }))
      found.insert(node.outputs.begin(), node.outputs.end());
  }
  return found;
}

/// The first value that meets something computed from this input, and is itself computed from another input
/// and from weights; not valid: there is none.
ValueId firstToMeet(const OnnxGraph& graph, ValueId labels, ValueId loss) {
  const std::set<ValueId> ofLabels = ahead(graph, labels), ofLoss = behind(graph, loss);
  if (!ofLabels.contains(loss)) return {};
  std::set<ValueId> ofSamples;
  for (const ValueId input : graph.inputs) {
    if (input == labels) continue;
    const std::set<ValueId> made = ahead(graph, input);
    ofSamples.insert(made.begin(), made.end());
  }
  const auto isPrediction = [&](ValueId id) {
    if (!ofSamples.contains(id) || ofLabels.contains(id) || !ofLoss.contains(id)) return false;
    const std::set<ValueId> makers = behind(graph, id);
    return std::ranges::any_of(graph.weights, [&](ValueId weight) { return makers.contains(weight); });
  };
  for (const OnnxNode& node : graph.nodes) {
    if (std::ranges::none_of(node.inputs, [&](ValueId id) { return ofLabels.contains(id); })) continue;
    const auto found = std::ranges::find_if(node.inputs, isPrediction);
    if (found != node.inputs.end()) return *found;
  }
  return {};
}

/// The predictions of a loss that is written in plain operators, such as a product with a mask of classes:
/// what meets the labels first. The labels are the input for which this takes the least to compute, because a
/// mask of positions comes later, when the labels are already in.
ValueId predictionsThatMeetLabels(const OnnxGraph& graph, ValueId loss) {
  ValueId predictions;
  std::size_t least = 0;
  for (const ValueId input : graph.inputs) {
    const ValueId met = firstToMeet(graph, input, loss);
    if (!met.valid()) continue;
    const std::size_t makers = behind(graph, met).size();
    if (!predictions.valid() || makers < least) predictions = met, least = makers;
  }
  return predictions.valid() ? predictionsBehind(graph, predictions) : predictions;
}

/// The first output that is no scalar. If there is none, what the first of several loss nodes scores, or what
/// meets the labels.
ValueId predictionsBeside(const OnnxGraph& graph) {
  const auto output =
      std::ranges::find_if_not(graph.outputs, [&](ValueId id) { return isDeclaredScalar(graph, id); });
  if (output != graph.outputs.end()) return *output;
  const auto node = std::ranges::find_if(
      graph.nodes, [](const OnnxNode& each) { return isLossNode(each) && each.inputs.size() >= 2; });
  if (node != graph.nodes.end()) return predictionsBehind(graph, node->inputs[0]);
  return graph.outputs.empty() ? ValueId() : predictionsThatMeetLabels(graph, graph.outputs.front());
}

}  // namespace

bool hasOwnLoss(const Model& model) {
  const OnnxGraph& graph = model.graph;
  if (lossNodeOf(graph)) return true;
  return !graph.outputs.empty() && isDeclaredScalar(graph, graph.outputs.front()) &&
         predictionsBeside(graph).valid();
}

Status useOwnLoss(Model& model, bool training) {
  OnnxGraph& graph = model.graph;
  if (const OnnxNode* node = lossNodeOf(graph)) {
    const std::set<ValueId> ofLabels = behind(graph, node->inputs[1]);
    if (std::ranges::none_of(graph.inputs, [&](ValueId id) { return ofLabels.contains(id); }))
      return badInput(fmt::format("{}: {} {} does not read its labels from an input of the model.",
                                  model.file, node->op, node->name));
    const ValueId predictions = predictionsBehind(graph, node->inputs[0]), loss = node->outputs[0];
    const ValueId labels = arrange(graph, predictions, loss, training);
    if (labels.valid()) takeLabelsAsInt32(graph, labels);
    return {};
  }
  const auto scalar = [&](ValueId id) { return isDeclaredScalar(graph, id); };
  const auto loss = std::ranges::find_if(graph.outputs, scalar);
  const ValueId predictions = predictionsBeside(graph);
  if (loss != graph.outputs.end() && !predictions.valid() && graph.inputs.size() == 1)
    return badInput(fmt::format(
        "{}: its output {} is computed from its only input, {}. A loss compares predictions, which are "
        "computed "
        "from samples, with labels, so the model needs an input for each of the two; or choose training.loss "
        "and let its outputs be the predictions.",
        model.file, graph.value(*loss).name, graph.value(graph.inputs.front()).name));
  if (loss == graph.outputs.end() || !predictions.valid()) {
    return badInput(
        fmt::format("{}: none of its outputs is made by SoftmaxCrossEntropyLoss or "
                    "NegativeLogLikelihoodLoss, or declared as one float32 that predictions and labels "
                    "make, so it has no loss of its own: choose another training.loss.",
                    model.file));
  }
  arrange(graph, predictions, ValueId(*loss), training);
  return {};
}

Status useLossOutput(Model& model, const std::string& output) {
  OnnxGraph& graph = model.graph;
  const auto found =
      std::ranges::find_if(graph.outputs, [&](ValueId id) { return graph.value(id).name == output; });
  if (found == graph.outputs.end())
    return badInput(fmt::format("{}: training.loss_output is \"{}\", but the model has no such output.",
                                model.file, output));
  const ValueId loss = *found;
  const bool isDeclared = graph.value(loss).element && graph.value(loss).shape;
  if (isDeclared && !isDeclaredScalar(graph, loss))
    return badInput(fmt::format("{}: training.loss_output is \"{}\", but a loss is one float32 without axes.",
                                model.file, output));
  const auto node = std::ranges::find_if(graph.nodes, [&](const OnnxNode& each) {
    return isLossNode(each) && each.inputs.size() >= 2 && !each.outputs.empty() && each.outputs[0] == loss;
  });
  graph.outputs.erase(found);
  graph.outputs.push_back(loss);
  if (node == graph.nodes.end()) return {};
  const ValueId labels = node->inputs[1];
  if (std::ranges::find(graph.inputs, labels) != graph.inputs.end()) takeLabelsAsInt32(graph, labels);
  return {};
}

}  // namespace pipescope::onnx
