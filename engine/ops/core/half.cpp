#include "engine/ops/core/half.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

#include <array>
#include <bit>
#include <cmath>

#include "engine/ops/core/random.h"

namespace pipescope::ops {
namespace {

/// The bits of exponent and fraction, and the exponent of the smallest normal number.
struct Float16Format {
  static constexpr int fraction = 10, smallestExponent = -14;
};
struct BFloat16Format {
  static constexpr int fraction = 7, smallestExponent = -126;
};

std::uint32_t bitsOf(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

/// The neighbour of `value` that a uniform number in [0, 1) picks: a number of the format, or infinity.
template <class Format>
float roundStochastically(float value, float uniform) {
  const float magnitude = std::fabs(value);
  if (!(magnitude < std::numeric_limits<float>::infinity()) || magnitude == 0) return value;
  const int exponent = std::max(std::ilogb(magnitude), Format::smallestExponent) - Format::fraction;
  // Both scalings are exact, because they are by powers of two and in double.
  const double scaled = std::ldexp(static_cast<double>(magnitude), -exponent);
  double whole = std::floor(scaled);
  if (static_cast<double>(uniform) < scaled - whole) whole += 1;
  return std::copysign(static_cast<float>(std::ldexp(whole, exponent)), value);
}

template <class Format, class Half>
void narrowByChance(const float* from, Half* to, std::int64_t count, const RandomSequence& random) {
  std::array<std::uint32_t, 4> words{};
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % 4 == 0) words = random.block(static_cast<std::uint64_t>(i / 4));
    const float uniform = static_cast<float>(words[static_cast<std::size_t>(i % 4)] >> 8) * 0x1p-24F;
    narrow(roundStochastically<Format>(from[i], uniform), to[i]);
  }
}

}  // namespace

float widened(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1FU, fraction = value.bits & 0x3FFU;
  if (exponent == 0x1F) {
    const std::uint32_t quiet = fraction ? 0x400000U : 0U;
    return std::bit_cast<float>(sign | 0x7F800000U | quiet | fraction << 13);
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(sign | bitsOf(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

float widened(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

void narrow(float value, Float16& to) {
  const std::uint32_t bits = bitsOf(value), sign = (bits >> 16) & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t result = 0;
  if (magnitude > 0x7F800000U) {
    result = 0x7E00U | ((magnitude >> 13) & 0x3FFU);
  } else if (magnitude >= 0x477FF000U) {  // from 65520 on
    result = 0x7C00U;
  } else if (magnitude < 0x38800000U) {
    // Adding 0.5 to a number below 2⁻¹⁴ rounds to nearest even and leaves units of 2⁻²⁴ in the last bits.
    result = bitsOf(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  } else {
    result = (magnitude - 0x38000000U + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
  }
  to.bits = static_cast<std::uint16_t>(sign | result);
}

void narrow(float value, BFloat16& to) {
  const std::uint32_t bits = bitsOf(value);
  const bool isNan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  to.bits = static_cast<std::uint16_t>(isNan ? (bits >> 16) | 0x40U : rounded);
}

void widen(const Float16* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    const void* source = from + i;
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(source))));
  }
#endif
  for (; i < count; ++i) to[i] = widened(from[i]);
}

void widen(const BFloat16* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = widened(from[i]);
}

void narrow(const float* from, Float16* to, std::int64_t count) {
  std::int64_t i = 0;
#ifdef __F16C__
  for (; i + 8 <= count; i += 8) {
    void* target = to + i;
    _mm_storeu_si128(static_cast<__m128i*>(target),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
#endif
  for (; i < count; ++i) narrow(from[i], to[i]);
}

void narrow(const float* from, BFloat16* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) narrow(from[i], to[i]);
}

void narrowStochastically(const float* from, Float16* to, std::int64_t count, const RandomSequence& random) {
  narrowByChance<Float16Format>(from, to, count, random);
}

void narrowStochastically(const float* from, BFloat16* to, std::int64_t count, const RandomSequence& random) {
  narrowByChance<BFloat16Format>(from, to, count, random);
}

}  // namespace pipescope::ops
