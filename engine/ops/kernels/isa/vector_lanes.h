#pragma once
// The vector type of the instruction set that a kernel module is compiled for, and its operations. Only
// sources in isa/ include this file. Everything is inline in an unnamed namespace, so that modules built with
// different flags share no code.
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

// PIPESCOPE_UNROLL(count) unrolls the next loop, whose values stay in registers. An index that is not
// constant would move them to memory. g++ unrolls the loops before and after such a loop by itself and makes
// slower code of all where it is told to; clang must be told (PIPESCOPE_UNROLL_CLANG).
#if defined(__clang__)
#define PIPESCOPE_UNROLL(count) _Pragma("clang loop unroll(full)")
#define PIPESCOPE_UNROLL_CLANG _Pragma("clang loop unroll(full)")
#else
#define PIPESCOPE_UNROLL_TEXT(text) _Pragma(#text)
#define PIPESCOPE_UNROLL(count) PIPESCOPE_UNROLL_TEXT(GCC unroll count)
#define PIPESCOPE_UNROLL_CLANG
#endif

namespace {

#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr std::int64_t kLanes = 8;
#else
constexpr std::int64_t kLanes = 4;
#endif
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

inline Lanes zero() {
  return Lanes{};
}
inline Lanes load(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Lanes v) {
  std::memcpy(p, &v, sizeof v);
}
/// Sets all lanes to x. x − 0 equals x, also for −0 and NaN.
inline Lanes fill(float x) {
  return x - Lanes{};
}
inline Lanes add(Lanes a, Lanes b) {
  return a + b;
}
inline Lanes subtract(Lanes a, Lanes b) {
  return a - b;
}
inline Lanes scale(Lanes a, Lanes b) {
  return a * b;
}
/// a·b + c, rounded once if the instruction set has fused multiply-add.
inline Lanes multiplyAdd(Lanes a, Lanes b, Lanes c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__) && defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
/// The larger value of each lane, or b if one of the two is NaN.
inline Lanes larger(Lanes a, Lanes b) {
  return a > b ? a : b;
}

}  // namespace
