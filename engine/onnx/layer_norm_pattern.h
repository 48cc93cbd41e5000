#pragma once
// Finds layer normalization as exporters write it before opset 17. PyTorch's writes
// (x − mean) ÷ √(variance + ε) · scale + bias in nine nodes; TensorFlow's writes x · m + (bias − mean · m),
// with m = scale ÷ √(variance + ε), in twelve.
#include <cstdint>
#include <optional>

#include "engine/graph/graph.h"

namespace pipescope::onnx {

struct LayerNormParts {
  graph::TensorId x, scale, bias;
  std::int64_t axis = 0;  ///< the first of the normalized axes, which are the last ones
  double epsilon = 0;
};

/// Returns the parts if the sum of `left` and `right` is such a normalization. Scale and bias have the shape
/// of the normalized axes. The operands of each sum and product may be in any order.
std::optional<LayerNormParts> layerNormParts(const graph::Graph& graph, graph::TensorId left,
                                             graph::TensorId right);

}  // namespace pipescope::onnx
