#pragma once
// Writes EfficientNet-EdgeTPU-L as TensorFlow freezes it.
#include <cstdint>
#include <filesystem>

namespace pipescope::conformance {

/// Writes `model.onnx` into the folder and returns its path. The graph is that of
/// `efficientnet_edgetpu_builder.py` (tensorflow/tpu) for images of 224 by 224, with batch norms folded into
/// weights and biases, as grappler does it.
std::filesystem::path writeEfficientNetEdgeL(std::int64_t batch, const std::filesystem::path& folder);

}  // namespace pipescope::conformance
