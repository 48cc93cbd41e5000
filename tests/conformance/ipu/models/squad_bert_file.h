#pragma once
// Writes BERT for SQuAD as TensorFlow's programs export it to ONNX.
#include <cstdint>
#include <filesystem>

namespace pipescope::conformance {

struct SquadBert {
  std::int64_t batch = 1, sequence = 256, layers = 12, hidden = 768, heads = 12;
  std::int64_t feedForward = 3072, vocabulary = 30522, positions = 512;
  /// Gelu as the nodes of its definition by erf, which readers replace by one operator; otherwise by tanh and
  /// a cube, as the export has it.
  bool oneGelu = true;
};

/// Writes `model.onnx` into the folder and returns its path. The graph is that of `modeling.py` and
/// `run_squad.py` (google-research/bert) in the operators that tf2onnx makes of them, with fixed shapes. All
/// weights are zeros from one sparse file beside the model.
std::filesystem::path writeSquadBert(const SquadBert& model, const std::filesystem::path& folder);

}  // namespace pipescope::conformance
