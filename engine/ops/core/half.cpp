#include "engine/ops/core/half.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "engine/ops/core/random.h"

namespace pipescope::ops {
namespace {

std::uint32_t bitsOf(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

constexpr std::uint32_t kSign = 0x80000000U, kInfinite = 0x7F800000U;

/// Adding a number below the last bit that stays carries into that bit with the wanted probability. The carry
/// also leads from a fraction to the next exponent, and from the largest number to infinity.
std::uint32_t carried(std::uint32_t magnitude, std::uint32_t word, int dropped) {
  const std::uint32_t below = (1U << dropped) - 1U;
  return (magnitude + (below - (word >> (32 - dropped)))) >> dropped;
}

/// The neighbour of a finite `value` that the upper 24 bits of `word` pick. Numbers below 2⁻¹⁴ are multiples
/// of 2⁻²⁴; their fraction may have more bits than `word`, so it is compared in float32, where all steps are
/// exact.
void narrowByChance(float value, std::uint32_t word, Float16& to) {
  const std::uint32_t bits = bitsOf(value), sign = (bits & kSign) >> 16, magnitude = bits & ~kSign;
  const std::uint32_t normal = std::min(carried(magnitude, word, 13) - 0x1C000U, 0x7C00U);
  const float scaled = std::min(1.0F, std::bit_cast<float>(magnitude)) * 0x1p24F;
  const auto whole = static_cast<std::int32_t>(scaled);
  const float uniform = static_cast<float>(static_cast<std::int32_t>(word >> 8)) * 0x1p-24F;
  const bool up = uniform < scaled - static_cast<float>(whole);
  const auto small = static_cast<std::uint32_t>(whole + (up ? 1 : 0));
  to.bits = static_cast<std::uint16_t>(sign | (magnitude < 0x38800000U ? small : normal));
}

void narrowByChance(float value, std::uint32_t word, BFloat16& to) {
  const std::uint32_t bits = bitsOf(value);
  to.bits = static_cast<std::uint16_t>((bits & kSign) >> 16 | carried(bits & ~kSign, word, 16));
}

/// Draws the words of a piece first, so that each loop is simple.
template <class Half>
void narrowAllByChance(const float* from, Half* to, std::int64_t count, const RandomSequence& random) {
  constexpr std::int64_t kPiece = 256;
  std::array<std::uint32_t, kPiece> words{};
  for (std::int64_t first = 0; first < count; first += kPiece) {
    const std::int64_t piece = std::min(kPiece, count - first);
    random.words(std::span(words).first(static_cast<std::size_t>((piece + 3) / 4 * 4)),
                 static_cast<std::uint64_t>(first / 4));
    bool finite = true;
    for (std::int64_t i = 0; i < piece; ++i) {
      finite &= (bitsOf(from[first + i]) & kInfinite) != kInfinite;
      narrowByChance(from[first + i], words[static_cast<std::size_t>(i)], to[first + i]);
    }
    for (std::int64_t i = first; i < first + piece && !finite; ++i)
      if ((bitsOf(from[i]) & kInfinite) == kInfinite) narrow(from[i], to[i]);
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
  narrowAllByChance(from, to, count, random);
}

void narrowStochastically(const float* from, BFloat16* to, std::int64_t count, const RandomSequence& random) {
  narrowAllByChance(from, to, count, random);
}

}  // namespace pipescope::ops
