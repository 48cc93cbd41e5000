#pragma once
// Compares tensors as ONNX's own backend test runner does.
#include <string>
#include <vector>

#include "engine/onnx/model.h"

namespace pipescope::conformance {

/// Describes the first difference, or returns "". Types and shapes must be equal. Floating-point values must
/// satisfy |actual − expected| ≤ 1e−7 + 1e−3·|expected| (bfloat16: 2⁻⁷), where NaN equals NaN and infinities
/// equal themselves. All other values must be equal.
std::string difference(const graph::TensorValue& actual, const graph::TensorValue& expected);

/// All elements as doubles, which are exact except for integers beyond 2⁵³.
std::vector<double> doublesOf(const graph::TensorValue& value);

}  // namespace pipescope::conformance
