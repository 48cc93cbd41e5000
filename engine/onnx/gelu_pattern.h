#pragma once
// Finds Gelu as exporters write it before opset 20: x·(1 + erf(x ÷ √2))·½, in five nodes.
#include <optional>

#include "engine/graph/graph.h"

namespace pipescope::onnx {

/// Returns x if the product of `left` and `right` is the Gelu of x. The factors of each product may be in any
/// order.
std::optional<graph::TensorId> geluArgument(const graph::Graph& graph, graph::TensorId left,
                                            graph::TensorId right);

}  // namespace pipescope::onnx
