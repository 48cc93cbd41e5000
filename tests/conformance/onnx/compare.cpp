#include "compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace pipescope::conformance {
namespace {

using graph::ElementType;

double halfToDouble(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double value = exponent == 0    ? std::ldexp(fraction, -24)
                 : exponent == 31 ? static_cast<double>(fraction == 0 ? INFINITY : NAN)
                                  : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

double brainToDouble(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return static_cast<double>(value);
}

template <class T, class Convert>
void read(const graph::TensorValue& value, std::vector<double>& to, Convert convert) {
  for (std::size_t at = 0; at + sizeof(T) <= value.bytes.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, value.bytes.data() + at, sizeof(T));
    to.push_back(convert(element));
  }
}

bool isFloating(ElementType type) {
  return type <= ElementType::float64;
}

/// ONNX's generator makes bfloat16 by cutting float32 in half. Rounding to nearest differs by one step, 2⁻⁷,
/// at most.
bool close(double actual, double expected, ElementType type) {
  constexpr double kAbsolute = 1e-7;  // onnx/backend/test/runner
  const double kRelative = type == ElementType::bfloat16 ? 0x1p-7 : 1e-3;
  if (std::isnan(actual) || std::isnan(expected)) return std::isnan(actual) && std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= kAbsolute + kRelative * std::abs(expected);
}

}  // namespace

std::vector<double> doublesOf(const graph::TensorValue& value) {
  std::vector<double> result;
  const auto plain = [](auto x) { return static_cast<double>(x); };
  switch (value.type.element) {
    case ElementType::float32:
      read<float>(value, result, plain);
      break;
    case ElementType::float64:
      read<double>(value, result, plain);
      break;
    case ElementType::float16:
      read<std::uint16_t>(value, result, halfToDouble);
      break;
    case ElementType::bfloat16:
      read<std::uint16_t>(value, result, brainToDouble);
      break;
    case ElementType::int8:
      read<std::int8_t>(value, result, plain);
      break;
    case ElementType::int16:
      read<std::int16_t>(value, result, plain);
      break;
    case ElementType::int32:
      read<std::int32_t>(value, result, plain);
      break;
    case ElementType::int64:
      read<std::int64_t>(value, result, plain);
      break;
    case ElementType::uint8:
    case ElementType::boolean:
    // Numbers of eight bits are compared by their patterns, which must be equal.
    case ElementType::float8_143:
    case ElementType::float8_143fn:
    case ElementType::float8_143fnuz:
    case ElementType::float8_152:
    case ElementType::float8_152fnuz:
    case ElementType::float4_121:
      read<std::uint8_t>(value, result, plain);
      break;
    case ElementType::uint16:
      read<std::uint16_t>(value, result, plain);
      break;
    case ElementType::uint32:
      read<std::uint32_t>(value, result, plain);
      break;
    case ElementType::uint64:
      read<std::uint64_t>(value, result, plain);
      break;
  }
  return result;
}

std::string difference(const graph::TensorValue& actual, const graph::TensorValue& expected) {
  if (actual.type != expected.type)
    return fmt::format("is {}, expected {}", graph::toString(actual.type), graph::toString(expected.type));
  if (!isFloating(actual.type.element)) {
    if (actual.bytes == expected.bytes) return "";
  }
  const std::vector<double> a = doublesOf(actual), e = doublesOf(expected);
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = isFloating(actual.type.element) ? close(a[i], e[i], actual.type.element) : a[i] == e[i];
    if (!same && wrong++ == 0) first = i;
  }
  if (wrong == 0) return isFloating(actual.type.element) ? "" : "differs in large whole numbers";
  return fmt::format("{} of {} elements differ; element {} is {}, expected {}", wrong, a.size(), first,
                     a[first], e[first]);
}

}  // namespace pipescope::conformance
