#include "engine/onnx/gelu_pattern.h"

#include <algorithm>
#include <cmath>

#include "engine/onnx/pattern_nodes.h"

namespace pipescope::onnx {
namespace {

using graph::Graph;
using graph::TensorId;

/// The other operand, if one of the two is this number.
std::optional<TensorId> besides(const Graph& graph, TensorPair pair, double value) {
  if (isNumber(graph, pair.second, value)) return pair.first;
  if (isNumber(graph, pair.first, value)) return pair.second;
  return std::nullopt;
}

/// Returns x if the tensor is erf(x ÷ √2) + 1.
std::optional<TensorId> gateArgument(const Graph& graph, TensorId id) {
  const graph::Node* sum = madeBy(graph, id, "Add");
  if (!sum) return std::nullopt;
  const auto erf = besides(graph, {sum->inputs[0], sum->inputs[1]}, 1);
  const graph::Node* error = erf ? madeBy(graph, *erf, "Erf") : nullptr;
  if (!error) return std::nullopt;
  if (const graph::Node* quotient = madeBy(graph, error->inputs[0], "Div"))
    return isNumber(graph, quotient->inputs[1], std::sqrt(2.0)) ? std::optional(quotient->inputs[0])
                                                                : std::nullopt;
  if (const graph::Node* product = madeBy(graph, error->inputs[0], "Mul"))
    return besides(graph, {product->inputs[0], product->inputs[1]}, std::sqrt(0.5));
  return std::nullopt;
}

/// Returns x if the pair is x and such a gate of x.
std::optional<TensorId> gated(const Graph& graph, TensorPair pair) {
  for (const auto& [x, gate] : {pair, TensorPair{pair.second, pair.first}}) {
    if (gateArgument(graph, gate) == x) return x;
  }
  return std::nullopt;
}

/// Does the same as geluArgument(), but compares values only.
std::optional<TensorId> matched(const Graph& graph, TensorId left, TensorId right) {
  // (x·gate)·½
  if (const auto whole = besides(graph, {left, right}, 0.5)) {
    const graph::Node* product = madeBy(graph, *whole, "Mul");
    if (!product) return std::nullopt;
    return gated(graph, {product->inputs[0], product->inputs[1]});
  }
  // (x·½)·gate or x·(gate·½)
  for (const auto& [half, other] : {TensorPair{left, right}, TensorPair{right, left}}) {
    const graph::Node* product = madeBy(graph, half, "Mul");
    const auto rest = product ? besides(graph, {product->inputs[0], product->inputs[1]}, 0.5) : std::nullopt;
    if (!rest) continue;
    if (const auto x = gated(graph, {*rest, other})) return x;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TensorId> geluArgument(const Graph& graph, TensorId left, TensorId right) {
  if (!left.valid() || !right.valid()) return std::nullopt;
  const std::optional<TensorId> x = matched(graph, left, right);
  // A constant with more axes than x would change the shape of the result.
  const auto rank = [&graph](TensorId id) { return graph.tensor(id).type.shape.size(); };
  if (!x || std::max(rank(left), rank(right)) != rank(*x)) return std::nullopt;
  return x;
}

}  // namespace pipescope::onnx
