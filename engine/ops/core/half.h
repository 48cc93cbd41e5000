#pragma once
// Storage and conversion of the two half-precision types. Arithmetic is done in float32. float16 is IEEE 754
// binary16, and bfloat16 is the upper half of binary32.
#include <cstdint>

namespace pipescope::ops {

struct Float16 {
  std::uint16_t bits = 0;
};
struct BFloat16 {
  std::uint16_t bits = 0;
};

class RandomSequence;

/// Exact.
float widened(Float16 value);
float widened(BFloat16 value);
/// Rounds to nearest, ties to even. Too large numbers become infinite, and NaN stays NaN.
void narrow(float value, Float16& to);
void narrow(float value, BFloat16& to);

void widen(const Float16* from, float* to, std::int64_t count);
void widen(const BFloat16* from, float* to, std::int64_t count);
void narrow(const float* from, Float16* to, std::int64_t count);
void narrow(const float* from, BFloat16* to, std::int64_t count);

/// Rounds x between its neighbours a < b to b with probability (x − a) ÷ (b − a). Element i uses 24 bits of
/// word i of the random sequence.
void narrowStochastically(const float* from, Float16* to, std::int64_t count, const RandomSequence& random);
void narrowStochastically(const float* from, BFloat16* to, std::int64_t count, const RandomSequence& random);

}  // namespace pipescope::ops
