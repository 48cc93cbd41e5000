#pragma once
// Compares tensors as ONNX's own backend test runner does.
#include <string>
#include <vector>

#include "engine/onnx/model.h"

namespace pipescope::conformance {

/// Empty where equal: same type, same shape, floating-point values with |actual − expected| ≤ 1e−7 +
/// 1e−3·|expected| (bfloat16: 2⁻⁷; NaN equals NaN, infinities equal themselves), all others exactly.
std::string difference(const graph::TensorValue& actual, const graph::TensorValue& expected);

/// All elements as doubles; exact but for integers beyond 2⁵³.
std::vector<double> doublesOf(const graph::TensorValue& value);

}  // namespace pipescope::conformance
