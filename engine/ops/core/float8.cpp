#include "engine/ops/core/float8.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "profiler/base/check.h"

namespace pipescope::ops {
namespace {

using graph::ElementType;

constexpr std::size_t kFloat8Types = 5;
constexpr std::array<Float8Definition, kFloat8Types> kFloat8Definitions{{
    {3, 7, 240, true, false},     // float8_143
    {3, 7, 448, false, false},    // float8_143fn
    {3, 8, 240, false, true},     // float8_143fnuz
    {2, 15, 57344, true, false},  // float8_152
    {2, 16, 57344, false, true},  // float8_152fnuz
}};

std::size_t float8Index(ElementType type) {
  PIPESCOPE_CHECK(graph::isFloat8(type), "not a float8 type: " + graph::toString(type));
  return static_cast<std::size_t>(type) - static_cast<std::size_t>(ElementType::float8_143);
}

/// The pattern of a finite magnitude, which may lie above that of the largest number.
std::uint32_t patternOf(const Float8Definition& d, float magnitude) {
  const int own = static_cast<int>(std::bit_cast<std::uint32_t>(magnitude) >> 23) - 127;
  const int exponent = own < 1 - d.bias ? 1 - d.bias : own;
  // Counts in units of the last bit of the fraction. Scaling by a power of two is exact, and a carry into the
  // next exponent falls into place by itself.
  const float units = std::nearbyint(std::ldexp(magnitude, d.fraction - exponent));
  return (static_cast<std::uint32_t>(exponent + d.bias - 1) << d.fraction) +
         static_cast<std::uint32_t>(units);
}

float decodedFloat8(const Float8Definition& d, std::uint32_t bits) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::uint32_t magnitude = bits & 0x7FU;
  const std::uint32_t field = magnitude >> d.fraction, fraction = magnitude & ((1U << d.fraction) - 1);
  if (d.oneZero && bits == 0x80U) return kNan;
  const std::uint32_t top = 0x7FU >> d.fraction;
  if (d.infinity && field == top)
    return fraction != 0 ? kNan
                         : std::copysign(std::numeric_limits<float>::infinity(), bits > 0x7FU ? -1.F : 1.F);
  if (!d.infinity && !d.oneZero && magnitude == 0x7FU) return kNan;
  const int exponent = field == 0 ? 1 - d.bias : static_cast<int>(field) - d.bias;
  const std::uint32_t whole = fraction + (field == 0 ? 0U : 1U << d.fraction);
  const float value = std::ldexp(static_cast<float>(whole), exponent - d.fraction);
  return bits > 0x7FU ? -value : value;
}

using Float8Table = std::array<float, 256>;

/// All values of each type.
const std::array<Float8Table, kFloat8Types>& float8Tables() {
  static const auto tables = [] {
    std::array<Float8Table, kFloat8Types> made{};
    for (std::size_t type = 0; type < kFloat8Types; ++type) {
      for (std::uint32_t bits = 0; bits < 256; ++bits)
        made[type][bits] = decodedFloat8(kFloat8Definitions[type], bits);
    }
    return made;
  }();
  return tables;
}

/// Encodes numbers of one type.
class Float8Encoder {
 public:
  Float8Encoder(ElementType type, bool saturate) : d_(kFloat8Definitions[float8Index(type)]) {
    largest_ = patternOf(d_, d_.largest);
    nan_ = d_.oneZero ? 0x80U : 0x7FU;
    beyond_ = saturate ? largest_ : d_.infinity ? largest_ + 1 : nan_;
  }

  std::uint8_t operator()(float value) const {
    const std::uint32_t sign = std::signbit(value) ? 0x80U : 0U;
    if (std::isnan(value)) return static_cast<std::uint8_t>(d_.oneZero ? nan_ : sign | nan_);
    const float magnitude = std::fabs(value);
    // Twice the largest number is beyond it however it is rounded.
    const std::uint32_t pattern = magnitude > 2 * d_.largest ? 0x80U : patternOf(d_, magnitude);
    const std::uint32_t kept = pattern > largest_ ? beyond_ : pattern;
    if (d_.oneZero && (kept == 0 || kept == nan_)) return static_cast<std::uint8_t>(kept);
    return static_cast<std::uint8_t>(sign | kept);
  }

 private:
  const Float8Definition& d_;
  std::uint32_t largest_ = 0, nan_ = 0, beyond_ = 0;
};

}  // namespace

const Float8Definition& float8Definition(ElementType type) {
  return kFloat8Definitions[float8Index(type)];
}

std::optional<ElementType> float8TypeOf(int fraction, double bias, double largest) {
  for (std::size_t i = 0; i < kFloat8Types; ++i) {
    const Float8Definition& d = kFloat8Definitions[i];
    if (d.fraction == fraction && d.bias == bias && static_cast<double>(d.largest) == largest)
      return static_cast<ElementType>(static_cast<std::size_t>(ElementType::float8_143) + i);
  }
  return std::nullopt;
}

float widenedFloat8(ElementType type, std::uint8_t bits) {
  return float8Tables()[float8Index(type)][bits];
}

std::uint8_t narrowedToFloat8(ElementType type, float value, bool saturate) {
  return Float8Encoder(type, saturate)(value);
}

void widenFloat8(ElementType type, const std::uint8_t* from, float* to, std::int64_t count, float factor) {
  const Float8Table& table = float8Tables()[float8Index(type)];
  for (std::int64_t i = 0; i < count; ++i) to[i] = table[from[i]] * factor;
}

void narrowToFloat8(ElementType type, const float* from, std::uint8_t* to, std::int64_t count, float factor) {
  const Float8Encoder encode(type, true);
  for (std::int64_t i = 0; i < count; ++i) to[i] = encode(from[i] * factor);
}

}  // namespace pipescope::ops
