#pragma once
// Parts of patterns of nodes. Only the patterns of this folder use them.
#include <array>
#include <optional>
#include <utility>

#include "engine/graph/graph.h"

namespace pipescope::onnx {

using TensorPair = std::pair<graph::TensorId, graph::TensorId>;

/// The operands of a sum or product, which may be in either order.
inline std::array<TensorPair, 2> bothOrders(graph::TensorId a, graph::TensorId b) {
  return {TensorPair{a, b}, TensorPair{b, a}};
}

/// The node that makes a tensor, if it has this operator; otherwise null.
const graph::Node* madeBy(const graph::Graph& graph, graph::TensorId id, const char* op);

/// The value of a constant that is one real number.
std::optional<double> numberOf(const graph::Graph& graph, graph::TensorId id);

/// True if a constant is a single number close to `value`.
bool isNumber(const graph::Graph& graph, graph::TensorId id, double value);

}  // namespace pipescope::onnx
