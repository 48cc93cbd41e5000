#include "engine/onnx/layer_norm_pattern.h"

#include <algorithm>

#include "engine/onnx/pattern_nodes.h"

namespace pipescope::onnx {

using graph::Graph;
using graph::Node;
using graph::Shape;
using graph::TensorId;

namespace {

/// The first of the last axes over which the node takes a mean; none: it is another node, or takes the mean
/// over other axes.
std::optional<std::int64_t> meanAxis(const Graph& graph, const Node* node) {
  if (!node || graph::intAttribute(*node, "keepdims", 1) != 1) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(graph.tensor(node->inputs[0]).type.shape.size());
  std::vector<std::int64_t> axes = graph::intsAttribute(*node, "axes", {});
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(axes);
  if (axes.empty() || axes.back() != rank - 1) return std::nullopt;
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (axes[i] != axes[i - 1] + 1) return std::nullopt;
  }
  return axes.front();
}

/// What the standard deviation is taken of: the difference whose squares have this mean.
std::optional<TensorId> squaredIn(const Graph& graph, const Node& mean) {
  if (const Node* power = madeBy(graph, mean.inputs[0], "Pow"))
    return isNumber(graph, power->inputs[1], 2) ? std::optional(power->inputs[0]) : std::nullopt;
  const Node* product = madeBy(graph, mean.inputs[0], "Mul");
  if (!product || product->inputs[0] != product->inputs[1]) return std::nullopt;
  return product->inputs[0];
}

/// Whether both are x − mean(x), computed once or twice.
bool sameDifference(const Graph& graph, TensorId a, TensorId b) {
  if (a == b) return true;
  const Node *first = madeBy(graph, a, "Sub"), *second = madeBy(graph, b, "Sub");
  return first && second && first->inputs == second->inputs;
}

/// x, axis and ε if the tensor is (x − mean) ÷ √(variance + ε).
std::optional<LayerNormParts> normalized(const Graph& graph, TensorId id) {
  const Node* quotient = madeBy(graph, id, "Div");
  const Node* difference = quotient ? madeBy(graph, quotient->inputs[0], "Sub") : nullptr;
  const Node* root = quotient ? madeBy(graph, quotient->inputs[1], "Sqrt") : nullptr;
  const Node* mean = difference ? madeBy(graph, difference->inputs[1], "ReduceMean") : nullptr;
  const Node* sum = root ? madeBy(graph, root->inputs[0], "Add") : nullptr;
  const std::optional<std::int64_t> axis = meanAxis(graph, mean);
  if (!axis || !sum || mean->inputs[0] != difference->inputs[0]) return std::nullopt;
  for (const auto& [variance, epsilon] : bothOrders(sum->inputs[0], sum->inputs[1])) {
    const std::optional<double> number = numberOf(graph, epsilon);
    const Node* squares = madeBy(graph, variance, "ReduceMean");
    if (!number || meanAxis(graph, squares) != axis) continue;
    const std::optional<TensorId> squared = squaredIn(graph, *squares);
    if (squared && sameDifference(graph, *squared, quotient->inputs[0]))
      return LayerNormParts{difference->inputs[0], {}, {}, *axis, *number};
  }
  return std::nullopt;
}

/// Whether a tensor is a weight or constant of the shape of the normalized axes.
bool fits(const Graph& graph, TensorId id, const LayerNormParts& parts) {
  const graph::Tensor &own = graph.tensor(id), &x = graph.tensor(parts.x);
  const Shape axes(x.type.shape.begin() + static_cast<std::ptrdiff_t>(parts.axis), x.type.shape.end());
  return !own.producer.valid() && own.role != graph::TensorRole::input &&
         own.type == graph::TensorType{x.type.element, axes};
}

}  // namespace

std::optional<LayerNormParts> layerNormParts(const Graph& graph, TensorId left, TensorId right) {
  if (!left.valid() || !right.valid()) return std::nullopt;
  for (const auto& [bias, scaled] : bothOrders(left, right)) {
    const Node* product = madeBy(graph, scaled, "Mul");
    if (!product) continue;
    for (const auto& [scale, quotient] : bothOrders(product->inputs[0], product->inputs[1])) {
      std::optional<LayerNormParts> parts = normalized(graph, quotient);
      if (!parts || !fits(graph, scale, *parts) || !fits(graph, bias, *parts)) continue;
      parts->scale = scale;
      parts->bias = bias;
      return parts;
    }
  }
  return std::nullopt;
}

}  // namespace pipescope::onnx
