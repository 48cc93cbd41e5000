#pragma once
// Packs matrices into panels and transposes them, for one instruction set.
#include <algorithm>

#include "engine/ops/kernels/isa/vector_lanes.h"
#include "engine/ops/kernels/kernel_table.h"

namespace {

using pipescope::kernels::kPanel;

#if defined(__AVX2__)
constexpr std::int64_t kBlock = 8;
inline void transposeBlock(const float* from, std::int64_t ldFrom, float* to, std::int64_t ldTo) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(from + i * ldFrom);
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * ldTo, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * ldTo, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}
#elif defined(__SSE2__)
constexpr std::int64_t kBlock = 4;
inline void transposeBlock(const float* from, std::int64_t ldFrom, float* to, std::int64_t ldTo) {
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + ldFrom), c = _mm_loadu_ps(from + 2 * ldFrom),
         d = _mm_loadu_ps(from + 3 * ldFrom);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + ldTo, b);
  _mm_storeu_ps(to + 2 * ldTo, c);
  _mm_storeu_ps(to + 3 * ldTo, d);
}
#else
constexpr std::int64_t kBlock = 1;
inline void transposeBlock(const float* from, std::int64_t, float* to, std::int64_t) {
  *to = *from;
}
#endif

void transpose(const float* from, std::int64_t ldFrom, std::int64_t rows, std::int64_t columns, float* to,
               std::int64_t ldTo) {
  std::int64_t r = 0;
  for (; r + kBlock <= rows; r += kBlock) {
    std::int64_t c = 0;
    for (; c + kBlock <= columns; c += kBlock)
      transposeBlock(from + r * ldFrom + c, ldFrom, to + c * ldTo + r, ldTo);
    for (; c < columns; ++c) {
      for (std::int64_t i = r; i < r + kBlock; ++i) to[c * ldTo + i] = from[i * ldFrom + c];
    }
  }
  for (; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) to[c * ldTo + r] = from[r * ldFrom + c];
  }
}

void packRows(const float* b, std::int64_t ld, std::int64_t depth, std::int64_t columns, float* panels,
              std::int64_t panelStride) {
  std::int64_t column = 0;
  // Packs four panels at a time, because neighbouring panels share the cache lines of a row.
  for (; column + 4 * kPanel <= columns; column += 4 * kPanel, panels += 4 * panelStride) {
    const float* from = b + column;
    for (std::int64_t k = 0; k < depth; ++k, from += ld) {
      for (std::int64_t panel = 0; panel < 4; ++panel) {
        for (std::int64_t v = 0; v < kPanel; v += kLanes)
          store(panels + panel * panelStride + k * kPanel + v, load(from + panel * kPanel + v));
      }
    }
  }
  for (; column < columns; column += kPanel, panels += panelStride) {
    const std::int64_t own = std::min(kPanel, columns - column);
    const float* from = b + column;
    if (own == kPanel) {
      for (std::int64_t k = 0; k < depth; ++k, from += ld) {
        for (std::int64_t v = 0; v < kPanel; v += kLanes) store(panels + k * kPanel + v, load(from + v));
      }
      continue;
    }
    for (std::int64_t k = 0; k < depth; ++k, from += ld) {
      for (std::int64_t i = 0; i < kPanel; ++i) panels[k * kPanel + i] = i < own ? from[i] : 0.0F;
    }
  }
}

void packColumns(const float* b, std::int64_t ld, std::int64_t depth, std::int64_t columns, float* panels,
                 std::int64_t panelStride) {
  for (std::int64_t column = 0; column < columns; column += kPanel, panels += panelStride) {
    const std::int64_t own = std::min(kPanel, columns - column);
    transpose(b + column * ld, ld, own, depth, panels, kPanel);
    if (own == kPanel) continue;
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t i = own; i < kPanel; ++i) panels[k * kPanel + i] = 0;
    }
  }
}

}  // namespace
