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

/// Returns the tensor whose standard deviation is taken: the difference whose squares have this mean.
std::optional<TensorId> squaredIn(const Graph& graph, const Node& mean) {
  if (const Node* power = madeBy(graph, mean.inputs[0], "Pow"))
    return isNumber(graph, power->inputs[1], 2) ? std::optional(power->inputs[0]) : std::nullopt;
  const Node* product = madeBy(graph, mean.inputs[0], "Mul");
  if (!product || product->inputs[0] != product->inputs[1]) return std::nullopt;
  return product->inputs[0];
}

/// Returns x, axis and ε if the tensor is √(variance + ε) and the variance belongs to this mean.
std::optional<LayerNormParts> deviation(const Graph& graph, TensorId id, const Node* mean) {
  const Node* root = madeBy(graph, id, "Sqrt");
  const Node* sum = root ? madeBy(graph, root->inputs[0], "Add") : nullptr;
  const std::optional<std::int64_t> axis = meanAxis(graph, mean);
  if (!axis || !sum) return std::nullopt;
  for (const auto& [variance, epsilon] : bothOrders(sum->inputs[0], sum->inputs[1])) {
    const std::optional<double> number = numberOf(graph, epsilon);
    const Node* squares = madeBy(graph, variance, "ReduceMean");
    if (!number || meanAxis(graph, squares) != axis) continue;
    const std::optional<TensorId> squared = squaredIn(graph, *squares);
    const Node* difference = squared ? madeBy(graph, *squared, "Sub") : nullptr;
    if (difference && difference->inputs[0] == mean->inputs[0] && difference->inputs[1] == mean->outputs[0])
      return LayerNormParts{mean->inputs[0], {}, {}, *axis, *number};
  }
  return std::nullopt;
}

/// Returns x, axis and ε if the tensor is (x − mean) ÷ √(variance + ε).
std::optional<LayerNormParts> normalized(const Graph& graph, TensorId id) {
  const Node* quotient = madeBy(graph, id, "Div");
  const Node* difference = quotient ? madeBy(graph, quotient->inputs[0], "Sub") : nullptr;
  const Node* mean = difference ? madeBy(graph, difference->inputs[1], "ReduceMean") : nullptr;
  if (!mean || mean->inputs[0] != difference->inputs[0]) return std::nullopt;
  return deviation(graph, quotient->inputs[1], mean);
}

/// Returns the tensor whose reciprocal this tensor is.
std::optional<TensorId> inverted(const Graph& graph, TensorId id) {
  if (const Node* reciprocal = madeBy(graph, id, "Reciprocal")) return reciprocal->inputs[0];
  const Node* quotient = madeBy(graph, id, "Div");
  if (!quotient || !isNumber(graph, quotient->inputs[0], 1)) return std::nullopt;
  return quotient->inputs[1];
}

/// True if a tensor is a weight or constant of the shape of the normalized axes.
bool fits(const Graph& graph, TensorId id, const LayerNormParts& parts) {
  const graph::Tensor &own = graph.tensor(id), &x = graph.tensor(parts.x);
  const Shape axes(x.type.shape.begin() + static_cast<std::ptrdiff_t>(parts.axis), x.type.shape.end());
  return !own.producer.valid() && own.role != graph::TensorRole::input &&
         own.type == graph::TensorType{x.type.element, axes};
}

/// The parts if the product and the difference are x · m and bias − mean · m, and m is
/// scale ÷ √(variance + ε).
std::optional<LayerNormParts> weightedParts(const Graph& graph, const Node& product, const Node& difference) {
  const Node* shift = madeBy(graph, difference.inputs[1], "Mul");
  if (!shift) return std::nullopt;
  for (const auto& [x, factor] : bothOrders(product.inputs[0], product.inputs[1])) {
    const Node* weight = madeBy(graph, factor, "Mul");
    for (const auto& [average, same] : bothOrders(shift->inputs[0], shift->inputs[1])) {
      const Node* mean = madeBy(graph, average, "ReduceMean");
      if (!weight || !mean || same != factor || mean->inputs[0] != x) continue;
      for (const auto& [scale, inverse] : bothOrders(weight->inputs[0], weight->inputs[1])) {
        const std::optional<TensorId> root = inverted(graph, inverse);
        std::optional<LayerNormParts> parts = root ? deviation(graph, *root, mean) : std::nullopt;
        if (!parts || !fits(graph, scale, *parts) || !fits(graph, difference.inputs[0], *parts)) continue;
        parts->scale = scale;
        parts->bias = difference.inputs[0];
        return parts;
      }
    }
  }
  return std::nullopt;
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
  for (const auto& [rest, weighted] : bothOrders(left, right)) {
    const Node *product = madeBy(graph, weighted, "Mul"), *difference = madeBy(graph, rest, "Sub");
    if (!product || !difference) continue;
    if (const auto parts = weightedParts(graph, *product, *difference)) return parts;
  }
  return std::nullopt;
}

}  // namespace pipescope::onnx
