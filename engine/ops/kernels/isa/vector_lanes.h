#pragma once
// The vector unit that a kernel module is compiled for: one type of vectors of floats and what can be done
// with them. Included by the sources in isa/ only; everything is inline within an unnamed namespace, so that
// modules share nothing.
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

namespace {

#if defined(__AVX512F__)
using Lanes = __m512;
constexpr std::int64_t kLanes = 16;
inline Lanes zero() {
  return _mm512_setzero_ps();
}
inline Lanes load(const float* p) {
  return _mm512_loadu_ps(p);
}
inline void store(float* p, Lanes v) {
  _mm512_storeu_ps(p, v);
}
inline Lanes fill(float x) {
  return _mm512_set1_ps(x);
}
inline Lanes add(Lanes a, Lanes b) {
  return _mm512_add_ps(a, b);
}
inline Lanes subtract(Lanes a, Lanes b) {
  return _mm512_sub_ps(a, b);
}
inline Lanes scale(Lanes a, Lanes b) {
  return _mm512_mul_ps(a, b);
}
inline Lanes multiplyAdd(Lanes a, Lanes b, Lanes c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline Lanes larger(Lanes a, Lanes b) {
  return _mm512_max_ps(a, b);
}
#elif defined(__AVX2__) && defined(__FMA__)
using Lanes = __m256;
constexpr std::int64_t kLanes = 8;
inline Lanes zero() {
  return _mm256_setzero_ps();
}
inline Lanes load(const float* p) {
  return _mm256_loadu_ps(p);
}
inline void store(float* p, Lanes v) {
  _mm256_storeu_ps(p, v);
}
inline Lanes fill(float x) {
  return _mm256_set1_ps(x);
}
inline Lanes add(Lanes a, Lanes b) {
  return _mm256_add_ps(a, b);
}
inline Lanes subtract(Lanes a, Lanes b) {
  return _mm256_sub_ps(a, b);
}
inline Lanes scale(Lanes a, Lanes b) {
  return _mm256_mul_ps(a, b);
}
inline Lanes multiplyAdd(Lanes a, Lanes b, Lanes c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline Lanes larger(Lanes a, Lanes b) {
  return _mm256_max_ps(a, b);
}
#elif defined(__SSE2__)
using Lanes = __m128;
constexpr std::int64_t kLanes = 4;
inline Lanes zero() {
  return _mm_setzero_ps();
}
inline Lanes load(const float* p) {
  return _mm_loadu_ps(p);
}
inline void store(float* p, Lanes v) {
  _mm_storeu_ps(p, v);
}
inline Lanes fill(float x) {
  return _mm_set1_ps(x);
}
inline Lanes add(Lanes a, Lanes b) {
  return _mm_add_ps(a, b);
}
inline Lanes subtract(Lanes a, Lanes b) {
  return _mm_sub_ps(a, b);
}
inline Lanes scale(Lanes a, Lanes b) {
  return _mm_mul_ps(a, b);
}
inline Lanes multiplyAdd(Lanes a, Lanes b, Lanes c) {
  return _mm_add_ps(_mm_mul_ps(a, b), c);
}
inline Lanes larger(Lanes a, Lanes b) {
  return _mm_max_ps(a, b);
}
#else
using Lanes = float __attribute__((vector_size(16)));
constexpr std::int64_t kLanes = 4;
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
inline Lanes fill(float x) {
  return Lanes{x, x, x, x};
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
inline Lanes multiplyAdd(Lanes a, Lanes b, Lanes c) {
  return a * b + c;
}
inline Lanes larger(Lanes a, Lanes b) {
  return a > b ? a : b;
}
#endif

}  // namespace
