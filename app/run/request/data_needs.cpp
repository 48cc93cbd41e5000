#include "app/run/request/data_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/run/request/model_choice.h"
#include "engine/onnx/class_axis.h"

namespace pipescope::app {
namespace {

using base::badInput;
using graph::ElementType;
using graph::Graph;
using graph::TensorType;

bool isReal(ElementType type) {
  using enum ElementType;
  return type == float32 || type == float64 || type == float16 || type == bfloat16;
}

/// True if the outputs are computed from the input.
bool predictsFrom(const Graph& graph, graph::TensorId input) {
  std::set<graph::TensorId> reached{input};
  for (const graph::Node& node : graph.nodes()) {
    const auto reads = [&](graph::TensorId id) { return id.valid() && reached.contains(id); };
    if (node.pass == model::Pass::forward && std::ranges::any_of(node.inputs, reads))
      reached.insert(node.outputs.begin(), node.outputs.end());
  }
  return std::ranges::any_of(graph.outputs, [&](graph::TensorId id) { return reached.contains(id); });
}

/// The index of the labels among the inputs of a graph with a loss. The last input holds the labels if it has
/// whole numbers or its name begins with "labels". Otherwise the input called "labels" does. An input that
/// predictions are computed from holds no labels: a language model may compare its input with itself.
std::optional<std::size_t> labelsInput(const Graph& graph) {
  if (!graph.loss || graph.inputs.size() < 2 || predictsFrom(graph, graph.inputs.back())) return std::nullopt;
  const graph::Tensor& last = graph.tensor(graph.inputs.back());
  if (!isReal(last.type.element) || last.name.starts_with("labels")) return graph.inputs.size() - 1;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.tensor(graph.inputs[i]).name == "labels") return i;
  }
  return std::nullopt;
}

/// The number of rows of the table that a Gather or GatherND indexes with this input; 0: none does.
std::int64_t tableRows(const Graph& graph, graph::TensorId input) {
  for (const graph::Node& node : graph.nodes()) {
    if (node.op == "Gather" && node.inputs.size() > 1 && node.inputs[1] == input)
      return graph.tensor(node.inputs[0]).type.shape.front();
    if (node.op == "GatherND" && node.inputs.size() > 1 && node.inputs[1] == input) {
      const auto batch = static_cast<std::size_t>(graph::intAttribute(node, "batch_dims", 0));
      const graph::Shape& table = graph.tensor(node.inputs[0]).type.shape;
      return batch < table.size() ? table[batch] : 0;
    }
    if (node.op == "Cast" && node.inputs[0] == input && !node.outputs.empty()) {
      if (const std::int64_t rows = tableRows(graph, node.outputs[0]); rows > 0) return rows;
    }
  }
  return 0;
}

bool has(const Graph& graph, const char* op) {
  return std::ranges::find(graph.nodes(), op, &graph::Node::op) != graph.nodes().end();
}

/// The shape of one sample's row. Leaves out axis 0 if that is the micro-batch.
graph::Shape rowShape(const TensorType& type, std::int64_t microBatch) {
  if (!type.shape.empty() && type.shape[0] == microBatch)
    return graph::Shape(type.shape.begin() + 1, type.shape.end());
  const std::int64_t width = type.elements() / microBatch;
  return width == 1 ? graph::Shape() : graph::Shape{width};
}

std::int64_t classesOf(const Graph& graph) {
  std::int64_t classes = 0;
  for (const graph::Node& node : graph.nodes()) {
    if (node.op == "SoftmaxCrossEntropyLoss" || node.op == "NegativeLogLikelihoodLoss")
      classes = graph.tensor(node.inputs[0]).type.shape[1];
  }
  return classes;
}

/// True if the loss node reads the input's elements in their order.
bool readsInOrder(const Graph& graph, graph::TensorId from, graph::TensorId input) {
  constexpr const char* kOps[] = {"Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"};
  while (from != input) {
    const graph::NodeId producer = graph.tensor(from).producer;
    if (!producer.valid() || std::ranges::find(kOps, graph.node(producer).op) == std::end(kOps)) return false;
    from = graph.node(producer).inputs[0];
  }
  return true;
}

/// See DataNeeds::loss.
std::string comparedLoss(const Graph& graph, graph::TensorId labels) {
  const graph::NodeId producer = graph.tensor(*graph.loss).producer;
  if (!producer.valid()) return {};
  const graph::Node& node = graph.node(producer);
  const bool crossEntropy = node.op == "SoftmaxCrossEntropyLoss";
  if (!crossEntropy && node.op != "NegativeLogLikelihoodLoss") return {};
  if (node.inputs.size() > 2 || graph::stringAttribute(node, "reduction", "mean") != "mean" ||
      !readsInOrder(graph, node.inputs[1], labels))
    return {};
  return crossEntropy ? "cross_entropy" : "nll";
}

/// Number of classes of synthetic labels if the graph does not tell.
constexpr std::int64_t kClasses = 10;

}  // namespace

std::vector<data::FieldRequest> DataNeeds::fields() const {
  std::vector<data::FieldRequest> all = inputs;
  if (labels && !labelsAreInput()) all.push_back(*labels);
  return all;
}

bool DataNeeds::labelsAreInput() const {
  return std::ranges::find(inputs, true, &data::FieldRequest::labels) != inputs.end();
}

base::Result<DataNeeds> dataNeeds(const Graph& graph, std::int64_t microBatch) {
  DataNeeds needs;
  const std::optional<std::size_t> labels = labelsInput(graph);
  needs.classes = graph.loss ? classesOf(graph) : 0;
  // A loss with logarithms is a cross entropy. The real-valued labels of that loss are probabilities.
  const bool probabilities = graph.loss && (has(graph, "Log") || has(graph, "BinaryCrossEntropyLoss") ||
                                            has(graph, "BinaryCrossEntropyWithLogitsLoss"));
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const graph::Tensor& tensor = graph.tensor(graph.inputs[i]);
    if (tensor.type.elements() % microBatch != 0) {
      return badInput(
          fmt::format("Input {} is {}, which does not divide into {} samples: set the micro-batch size "
                      "to what the model was exported with, or export it with a dynamic batch axis.",
                      tensor.name, graph::toString(tensor.type), microBatch));
    }
    data::FieldRequest field{tensor.name, {tensor.type.element, rowShape(tensor.type, microBatch)}, 0, -1, 1,
                             i == labels};
    if (field.labels) {
      field.limit = needs.classes > 0 ? needs.classes : kClasses;
      if (probabilities) field.low = 0;
    } else {
      // Bytes that no table is read with are pixels.
      const std::int64_t rows = tableRows(graph, graph.inputs[i]);
      const bool pixels = rows == 0 && tensor.type.element == graph::ElementType::uint8;
      field.limit = pixels ? 256 : std::max<std::int64_t>(2, rows);
    }
    if (field.labels) needs.labels = field;
    if (field.labels) needs.loss = comparedLoss(graph, graph.inputs[i]);
    needs.inputs.push_back(std::move(field));
  }
  return needs;
}

base::Result<DataNeeds> labelNeeds(const config::Configuration& c) {
  const base::Result<Graph> graph = buildGraph(c, true);
  // A model that cannot be trained can still infer. The labels are then one class for each sample.
  DataNeeds none;
  none.labels = data::FieldRequest{"labels", {ElementType::int32, {}}, kClasses, -1, 1, true};
  if (!graph.ok() || !graph->loss) return none;
  PIPESCOPE_ASSIGN(DataNeeds needs, dataNeeds(*graph, c.integer("training.micro_batch_size")));
  if (!needs.labels) needs.labels = none.labels;
  return needs;
}

ScoreShape scoreShape(const Graph& graph, std::int64_t microBatch, std::int64_t labelsPerRow) {
  ScoreShape scores;
  if (graph.outputs.empty()) return scores;
  const TensorType& type = graph.tensor(graph.outputs.front()).type;
  if (!isReal(type.element)) return scores;
  scores.labels = microBatch * labelsPerRow;
  scores.element = type.element;
  scores.elements = type.elements();
  if (type.shape.size() < 2) return scores;
  const std::size_t axis = onnx::classAxis(graph, graph.outputs.front());
  scores.inner = graph::elementCount(
      graph::Shape(type.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, type.shape.end()));
  if (type.elements() == scores.labels * type.shape[axis]) scores.classes = type.shape[axis];
  return scores;
}

}  // namespace pipescope::app
