#pragma once
// Helpers of operators on quantized numbers: real value = (number − zero point) · scale.
#include <cmath>
#include <limits>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

/// The number in Q's range that is nearest to value + zero, halves to even. NaN becomes the lowest number.
template <class Q>
Q saturated(double value, Q zero) {
  const double shifted = std::nearbyint(value) + static_cast<double>(zero);
  if (!(shifted > static_cast<double>(std::numeric_limits<Q>::lowest())))
    return std::numeric_limits<Q>::lowest();
  if (shifted >= static_cast<double>(std::numeric_limits<Q>::max())) return std::numeric_limits<Q>::max();
  return static_cast<Q>(shifted);
}

/// A scale and zero point for the whole tensor, or for each index of an axis.
struct QuantizationSetup {
  std::int64_t outer = 1, channels = 1, inner = 1;  ///< channels is 1 if one scale serves all
};

/// Checks the scale (float32) and the optional zero point against the axis of x that the attribute `axis`
/// names.
Result<QuantizationSetup> quantizationSetup(const OperatorCall& call, std::size_t scale,
                                            std::size_t zeroPoint);
/// Fails with a sentence unless the scale is one float32 or `count` of them, and the zero point has the type
/// `element` and the same shape.
Status requireScale(const OperatorCall& call, std::size_t scale, std::size_t zeroPoint, ElementType element,
                    std::int64_t count);
/// Fails with a sentence unless the type is int8 or uint8.
Status requireQuantized(const OperatorCall& call, std::size_t input);

/// Calls maker(std::int8_t{}) or maker(std::uint8_t{}).
template <class Maker>
Result<Kernel> kernelForQuantized(const OperatorCall& call, ElementType type, Maker maker) {
  if (type == ElementType::int8) return maker(std::int8_t{});
  if (type == ElementType::uint8) return maker(std::uint8_t{});
  return unsupportedType(call, type, "int8 and uint8");
}

}  // namespace pipescope::ops
