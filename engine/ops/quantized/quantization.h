#pragma once
// What operators on quantised numbers share: real value = (number − zero point) · scale.
#include <cmath>
#include <limits>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

/// The nearest number of Q's range to value + zero, halves to even; NaN becomes the lowest.
template <class Q>
Q saturated(double value, Q zero) {
  const double shifted = std::nearbyint(value) + static_cast<double>(zero);
  if (!(shifted > static_cast<double>(std::numeric_limits<Q>::lowest())))
    return std::numeric_limits<Q>::lowest();
  if (shifted >= static_cast<double>(std::numeric_limits<Q>::max())) return std::numeric_limits<Q>::max();
  return static_cast<Q>(shifted);
}

/// A scale and zero point of one number, or of one for each index of an axis.
struct QuantizationPlan {
  std::int64_t outer = 1, channels = 1, inner = 1;  ///< channels 1: one for all
};

/// Checks scale (float32) and zero point, which may be left out, against the axis of x that the attribute
/// `axis` names.
Result<QuantizationPlan> quantizationPlan(const OperatorCall& call, std::size_t scale, std::size_t zeroPoint);
/// The scale is float32 of `count` numbers or one; the zero point is of `element` and like it.
Status requireScale(const OperatorCall& call, std::size_t scale, std::size_t zeroPoint, ElementType element,
                    std::int64_t count);
/// int8 or uint8.
Status requireQuantized(const OperatorCall& call, std::size_t input);

/// maker(std::int8_t{}) or maker(std::uint8_t{}).
template <class Maker>
Result<Kernel> kernelForQuantized(const OperatorCall& call, ElementType type, Maker maker) {
  if (type == ElementType::int8) return maker(std::int8_t{});
  if (type == ElementType::uint8) return maker(std::uint8_t{});
  return unsupportedType(call, type, "int8 and uint8");
}

}  // namespace pipescope::ops
