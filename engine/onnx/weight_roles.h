#pragma once
// Says which tensors of a model are weights that training may change, and which only look like weights.
#include <string>

#include "engine/onnx/model.h"

namespace pipescope::onnx {

/// True for an attention mask that a model keeps in its file: an element is −∞ or as good as that. No weight
/// is so large.
bool isMask(const TensorValue& value);

/// True for inputs of operators that hold floating-point settings and not weights.
bool holdsSettings(const std::string& op, std::size_t input);

/// True for a batch norm whose running statistics training updates.
bool movesStatistics(const OnnxNode& node);

}  // namespace pipescope::onnx
