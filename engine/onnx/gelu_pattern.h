#pragma once
// Gelu as exporters write it before opset 20: x·(1 + erf(x ÷ √2))·½, in five nodes.
#include <optional>

#include "engine/graph/graph.h"

namespace pipescope::onnx {

/// x, where a product of `left` and `right` would be Gelu of x; the products' factors may stand in any order.
std::optional<graph::TensorId> geluArgument(const graph::Graph& graph, graph::TensorId left,
                                            graph::TensorId right);

}  // namespace pipescope::onnx
