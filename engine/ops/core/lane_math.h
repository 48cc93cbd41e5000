#pragma once
// Transcendental functions as straight-line arithmetic, so that compilers turn loops over them into vector
// instructions. The bits do not depend on the vector width. The float versions are off by at most 2 units in
// the last place; their polynomials are fitted at Chebyshev nodes (reweighted least squares on the relative
// error). Infinities, NaN and subnormals follow IEEE. The double versions are the C library's.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// These functions must be inlined, or loops over them do not become vectors.
#define PIPESCOPE_LANE [[gnu::always_inline]] inline

namespace pipescope::ops::lanes {

/// ln 2 in two parts; the first has few enough bits that multiples of it are exact.
inline constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;

/// a·b + c, rounded once if the processor has a fused multiply-add.
PIPESCOPE_LANE float mad(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// a if the condition holds, otherwise b, by masks. A conditional expression may become a branch, which keeps
/// the loop from becoming vectors.
PIPESCOPE_LANE float pick(bool condition, float a, float b) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) |
                              (std::bit_cast<std::uint32_t>(b) & ~mask));
}
inline double pick(bool condition, double a, double b) {
  return condition ? a : b;
}

/// eˣ: x = k·ln 2 + r, |r| ≤ ln 2 ÷ 2, eʳ = 1 + r + r²·p(r).
PIPESCOPE_LANE float exp(float x) {
  const float below = pick(x > 89.0F, 89.0F, x);
  const float within = pick(below < -104.0F, -104.0F, below);
  constexpr float kRound = 12582912.0F;  // 1.5·2²³; adding it rounds to whole numbers
  const float shifted = mad(within, 1.44269504F, kRound);
  const float whole = shifted - kRound;
  const float r = mad(whole, -kLn2Low, mad(whole, -kLn2High, within));
  float p = 0.001381315873004496F;
  p = mad(p, r, 0.00836941134184599F);
  p = mad(p, r, 0.04166845604777336F);
  p = mad(p, r, 0.16666515171527863F);
  p = mad(p, r, 0.4999999403953552F);
  const float y = 1.0F + mad(r * r, p, r);
  // 2ᵏ as two factors, because k may lie outside a float's range of exponents.
  const std::int32_t k = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) - 0x4B400000U);
  const std::int32_t half = k >> 1;
  const float one = std::bit_cast<float>((static_cast<std::uint32_t>(half) + 127U) << 23);
  const float two = std::bit_cast<float>((static_cast<std::uint32_t>(k - half) + 127U) << 23);
  return y * one * two;
}
inline double exp(double x) {
  return std::exp(x);
}

/// ln x: x = 2ᵏ·(1 + f), ½√2 ≤ 1 + f < √2, ln(1 + f) = f − f²/2 + f³·q(f).
PIPESCOPE_LANE float log(float x) {
  const bool tiny = x < std::numeric_limits<float>::min();
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(pick(tiny, x * 0x1p23F, x));
  const std::int32_t k = static_cast<std::int32_t>(bits - 0x3F3504F3U) >> 23;
  const float f = std::bit_cast<float>(bits - (static_cast<std::uint32_t>(k) << 23)) - 1.0F;
  float q = -0.07634429633617401F;
  q = mad(q, f, 0.12761549651622772F);
  q = mad(q, f, -0.131601944565773F);
  q = mad(q, f, 0.14201761782169342F);
  q = mad(q, f, -0.16623356938362122F);
  q = mad(q, f, 0.20001226663589478F);
  q = mad(q, f, -0.250008225440979F);
  q = mad(q, f, 0.3333333134651184F);
  const float power = static_cast<float>(k - (23 & -static_cast<std::int32_t>(tiny)));
  const float square = f * f;
  const float y = ((f * square * q + power * kLn2Low) - 0.5F * square) + f + power * kLn2High;
  const float finite = pick(x < std::numeric_limits<float>::infinity(), y, x);  // +∞ and NaN pass
  const float positive = pick(x == 0, -std::numeric_limits<float>::infinity(), finite);
  return pick(x < 0, std::numeric_limits<float>::quiet_NaN(), positive);
}
inline double log(double x) {
  return std::log(x);
}

/// x + x³·p(x²) near zero, elsewhere 1 − 2 ÷ (e²ˣ + 1).
PIPESCOPE_LANE float tanh(float x) {
  const float a = std::fabs(x), s = x * x;
  float p = -0.005515167023986578F;
  p = mad(p, s, 0.02046942338347435F);
  p = mad(p, s, -0.05368802323937416F);
  p = mad(p, s, 0.1333083063364029F);
  p = mad(p, s, -0.3333325982093811F);
  const float near = mad(a, s * p, a);
  const float far = 1.0F - 2.0F / (lanes::exp(2.0F * a) + 1.0F);
  return std::copysign(pick(a < 0.625F, near, far), x);
}
inline double tanh(double x) {
  return std::tanh(x);
}

/// x + x·p(x²) near zero, elsewhere 1 − e^−(x + x·q(x)).
PIPESCOPE_LANE float erf(float x) {
  const float a = std::fabs(x), s = x * x;
  float p = -0.0005862214020453393F;
  p = mad(p, s, 0.0049675400368869305F);
  p = mad(p, s, -0.026748893782496452F);
  p = mad(p, s, 0.11281321942806244F);
  p = mad(p, s, -0.37612447142601013F);
  p = mad(p, s, 0.12837913632392883F);
  const float near = mad(a, p, a);
  const float t = pick(a > 4.0F, 4.0F, a);
  float q = 5.297003099258291e-06F;
  q = mad(q, t, -4.9940485041588545e-05F);
  q = mad(q, t, -2.7435142328613438e-05F);
  q = mad(q, t, 0.0028691210318356752F);
  q = mad(q, t, -0.022575614973902702F);
  q = mad(q, t, 0.10516949743032455F);
  q = mad(q, t, 0.6356731653213501F);
  q = mad(q, t, 0.12854143977165222F);
  const float far = 1.0F - lanes::exp(-mad(t, q, t));
  return std::copysign(pick(a < 0.921875F, near, far), x);
}
inline double erf(double x) {
  return std::erf(x);
}

/// erf x as a quotient of polynomials, off by at most 3e-7 at half the work of erf(). Gelu uses it, because
/// its sum with 1 has that error anyway.
PIPESCOPE_LANE float quickErf(float x) {
  const float a = std::fabs(x), t = pick(a > 3.95F, 3.95F, a), s = t * t;
  float p = -1.2966989260121409e-08F;
  p = mad(p, s, 4.640422048396431e-06F);
  p = mad(p, s, 0.0003779362014029175F);
  p = mad(p, s, 0.0038433633744716644F);
  p = mad(p, s, 0.05427473783493042F);
  p = mad(p, s, 0.18516892194747925F);
  p = mad(p, s, 1.128379225730896F);
  float q = 6.269237928790972e-05F;
  q = mad(q, s, 0.0013040602207183838F);
  q = mad(q, s, 0.015443702228367329F);
  q = mad(q, s, 0.11391093581914902F);
  q = mad(q, s, 0.4974350929260254F);
  q = mad(q, s, 1.0F);
  const float y = t * p / q;
  return std::copysign(pick((y > 1.0F) | (a > 3.95F), 1.0F, y), x);
}
inline double quickErf(double x) {
  return std::erf(x);
}

/// 1 ÷ (1 + e⁻ˣ), without losing small results.
template <class T>
PIPESCOPE_LANE T sigmoid(T x) {
  const T e = lanes::exp(-std::fabs(x));
  return pick(x < T(0), e, T(1)) / (T(1) + e);
}

}  // namespace pipescope::ops::lanes
