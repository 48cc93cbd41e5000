#pragma once
// Elementwise functions that are made of simpler ones in the same way on every device.
#include <array>
#include <cstddef>
#include <initializer_list>

#include "engine/ops/core/work.h"
#include "profiler/base/check.h"

namespace pipescope::devices {

/// The functions that a function is made of, in the order in which they run.
class FunctionParts {
 public:
  constexpr FunctionParts(std::initializer_list<ops::MapFunction> parts) {
    for (const ops::MapFunction part : parts) list_.at(count_++) = part;
  }
  constexpr const ops::MapFunction* begin() const { return list_.data(); }
  constexpr const ops::MapFunction* end() const { return list_.data() + count_; }

 private:
  std::array<ops::MapFunction, 19> list_{};
  std::size_t count_ = 0;
};

/// The parts of a function that no device has a shorter form for. The tables of the devices say which these
/// are, so that a function without parts here is a fault of the program.
constexpr FunctionParts commonParts(ops::MapFunction function) {
  using enum ops::MapFunction;
  switch (function) {
    case acos:
      return {asin, subtract};
    case sinh:
      return {exp, reciprocal, subtract, multiply};
    case cosh:
      return {exp, reciprocal, add, multiply};
    case asinh:
      return {square, add, sqrt, add, log};
    case acosh:
      return {square, subtract, sqrt, add, log};
    case atanh:
      return {add, subtract, divide, log, multiply};
    case tanGradient:
      return {square, add, multiply};
    case asinGradient:
    case acoshGradient:
      return {square, subtract, rsqrt, multiply};
    case acosGradient:
      return {square, subtract, rsqrt, multiply, negate};
    case atanGradient:
      return {square, add, divide};
    case asinhGradient:
      return {square, add, rsqrt, multiply};
    case atanhGradient:
      return {square, subtract, divide};
    case reciprocalGradient:
      return {square, multiply, negate};
    case erfGradient:
      return {square, exp, multiply, multiply};
    case eluGradient:
      return {exp, multiply, multiply, select};
    case softplusGradient:
      return {sigmoid, multiply};
    case softsign:
      return {abs, add, divide};
    case softsignGradient:
      return {abs, add, square, divide};
    case leakyRelu:
    case leakyReluGradient:
    case prelu:
      return {multiply, select};
    case preluGradient:
      return {multiply, multiply, select};
    case thresholdedRelu:
    case thresholdedReluGradient:
      return {greater, multiply};
    case shrink:
      return {add, greater, select};
    case dequantize:
      return {cast, subtract, multiply};
    case complexMultiplyAdd:
      return {multiply, scaledAdd, multiply, scaledAdd};
    case overlap:
      // The corners of the intersection, its sides (not below 0) and its area; the areas of both boxes; the
      // area of the union; the quotient and its comparison with the threshold.
      return {maximum,  maximum,  minimum,  minimum,  subtract, subtract, maximum,
              maximum,  multiply, subtract, subtract, multiply, subtract, subtract,
              multiply, add,      subtract, divide,   greater};
    default:
      PIPESCOPE_CHECK(false, "a function without common parts");
  }
}

}  // namespace pipescope::devices
