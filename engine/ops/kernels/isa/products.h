#pragma once
// Matrix products (multiplyRows()) for one instruction set.
#include <algorithm>

#include "engine/ops/kernels/isa/vector_lanes.h"
#include "engine/ops/kernels/kernel_table.h"

namespace {

using pipescope::kernels::kPanel;
using pipescope::kernels::RowProduct;

// The registers must hold rows × vectors sums, the vectors of B and one vector of A.
#if defined(__AVX512F__)
constexpr int kMostRows = 8, kMostVectors = 3;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr int kMostRows = 6, kMostVectors = 2;
#else
constexpr int kMostRows = 4, kMostVectors = 2;
#endif
/// Elements of k that are summed before C is written. A group of B's columns of this depth (64 to 192 KB)
/// stays in the second-level cache.
constexpr std::int64_t kDepth = 1024;

/// The inputs and the place of one block of C, and what happens to its sums.
struct Block {
  const float* rows[kMostRows];
  const float* b = nullptr;
  std::int64_t firstSegment = 0, endSegment = 0, begin = 0, end = 0;  ///< begin, end: one segment only
  float* to[kMostRows];
  std::int64_t columns = 0;  ///< number of columns, at most vectors · kLanes
  const float* bias = nullptr;
  bool accumulate = false, relu = false;
};

inline std::int64_t lanesAt(std::int64_t vector, std::int64_t panelStride) {
  constexpr std::int64_t kPerPanel = kPanel / kLanes;
  return vector / kPerPanel * panelStride + vector % kPerPanel * kLanes;
}

template <int kRows, int kVectors>
void finish(const RowProduct& p, const Block& block, Lanes (&sums)[kRows][kVectors]) {
  const Lanes factor = fill(p.scale);
  const bool whole = block.columns == kVectors * kLanes;
  for (int r = 0; r < kRows; ++r) {
    float* to = block.to[r];
    float edge[kVectors * kLanes] = {};
    if (!whole) {
      if (block.accumulate) std::memcpy(edge, to, static_cast<std::size_t>(block.columns) * sizeof(float));
    }
    float* out = whole ? to : edge;
    for (int v = 0; v < kVectors; ++v) {
      Lanes y = p.scale == 1 ? sums[r][v] : scale(factor, sums[r][v]);
      if (block.accumulate) y = add(load(out + v * kLanes), y);
      if (block.bias) {
        if (whole) {
          y = add(y, load(block.bias + v * kLanes));
        } else {
          float bias[kLanes] = {};
          const std::int64_t left = block.columns - v * kLanes;
          if (left > 0)
            std::memcpy(bias, block.bias + v * kLanes,
                        static_cast<std::size_t>(std::min(left, kLanes)) * sizeof(float));
          y = add(y, load(bias));
        }
      }
      if (block.relu) y = larger(zero(), y);
      store(out + v * kLanes, y);
    }
    if (!whole) std::memcpy(to, edge, static_cast<std::size_t>(block.columns) * sizeof(float));
  }
}

template <int kRows, int kVectors>
void multiplyBlock(const RowProduct& p, const Block& block) {
  Lanes sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = zero();
  }
  // Prefetches C, because cache misses would delay the stores at the end.
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(block.to[r] + v * kLanes, 1);
  }
  const float* b = block.b;
  const std::int64_t step = p.step;
  for (std::int64_t s = block.firstSegment; s < block.endSegment; ++s) {
    const std::int64_t offset = p.segmentOffsets ? p.segmentOffsets[s] : s * p.segmentStride;
    const std::int64_t count = block.end > 0 ? block.end : s + 1 == p.segments ? p.last : p.length;
    std::int64_t at = offset + block.begin * step;
    for (std::int64_t k = block.begin; k < count; ++k, at += step, b += kPanel) {
      Lanes right[kVectors];
      PIPESCOPE_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) right[v] = load(b + lanesAt(v, p.panelStride));
      PIPESCOPE_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        const Lanes left = fill(block.rows[r][at]);
        PIPESCOPE_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) sums[r][v] = multiplyAdd(left, right[v], sums[r][v]);
      }
    }
  }
  finish<kRows, kVectors>(p, block, sums);
}

using BlockFunction = void (*)(const RowProduct&, const Block&);

template <int kVectors>
BlockFunction blockFunction(std::int64_t rows) {
  switch (rows) {
    case 1:
      return multiplyBlock<1, kVectors>;
    case 2:
      return multiplyBlock<2, kVectors>;
    case 3:
      return multiplyBlock<3, kVectors>;
    case 4:
      return multiplyBlock<4, kVectors>;
#if defined(__AVX2__)
    case 5:
      return multiplyBlock<5, kVectors>;
    case 6:
      return multiplyBlock<6, kVectors>;
#endif
#if defined(__AVX512F__)
    case 7:
      return multiplyBlock<7, kVectors>;
    default:
      return multiplyBlock<8, kVectors>;
#else
    default:
      return multiplyBlock<kMostRows, kVectors>;
#endif
  }
}

BlockFunction blockFunction(std::int64_t rows, std::int64_t vectors) {
  if (vectors == 1) return blockFunction<1>(rows);
#if defined(__AVX512F__)
  if (vectors == 3) return blockFunction<3>(rows);
#endif
  return blockFunction<2>(rows);
}

const float* rowAt(const RowProduct& p, std::int64_t r) {
  if (p.rowOffsets) return p.a + p.rowOffsets[r];
  return p.a + r / kPanel * p.blockStride + r % kPanel * p.rowStride;
}

/// Adds the products of one part of k to all of C.
void multiplyDepth(const RowProduct& p, Block block, const float* b, bool last) {
  const float* bias = last ? p.bias : nullptr;
  block.relu = last && p.relu;
  for (std::int64_t column = 0; column < p.columns;) {
    // Splits as evenly as possible: 4 vectors become 2 + 2, not 3 + 1.
    const std::int64_t left = (p.columns - column + kLanes - 1) / kLanes,
                       groups = (left + kMostVectors - 1) / kMostVectors;
    const std::int64_t vectors = (left + groups - 1) / groups;
    block.b = b + lanesAt(column / kLanes, p.panelStride);
    block.columns = std::min(p.columns - column, vectors * kLanes);
    block.bias = bias ? bias + column : nullptr;
    const BlockFunction whole = blockFunction(kMostRows, vectors);
    for (std::int64_t row = 0; row < p.rows; row += kMostRows) {
      const std::int64_t rows = std::min<std::int64_t>(kMostRows, p.rows - row);
      for (std::int64_t r = 0; r < rows; ++r) {
        block.rows[r] = rowAt(p, row + r);
        block.to[r] = p.c + column + (p.rowTargets ? p.rowTargets[row + r] : (row + r) * p.ldc);
      }
      (rows == kMostRows ? whole : blockFunction(rows, vectors))(p, block);
    }
    column += vectors * kLanes;
  }
}

void multiplyRows(const RowProduct& p) {
  const float* b = p.b;
  Block block;
  bool first = true;
  for (std::int64_t s = 0; s < p.segments;) {
    const auto lengthOf = [&p](std::int64_t segment) {
      return segment + 1 == p.segments ? p.last : p.length;
    };
    block.firstSegment = s;
    if (lengthOf(s) > kDepth) {
      // Splits a long segment into even parts.
      const std::int64_t all = lengthOf(s), parts = (all + kDepth - 1) / kDepth,
                         each = (all + parts - 1) / parts;
      block.endSegment = s + 1;
      for (block.begin = 0; block.begin < all; block.begin = block.end) {
        block.end = std::min(all, block.begin + each);
        block.accumulate = p.accumulate || !first;
        multiplyDepth(p, block, b, s + 1 == p.segments && block.end == all);
        b += (block.end - block.begin) * kPanel;
        first = false;
      }
      block.begin = block.end = 0;
      ++s;
      continue;
    }
    std::int64_t depth = 0;
    while (s < p.segments && depth + lengthOf(s) <= kDepth) depth += lengthOf(s++);
    block.endSegment = s;
    block.accumulate = p.accumulate || !first;
    multiplyDepth(p, block, b, s == p.segments);
    b += depth * kPanel;
    first = false;
  }
}

}  // namespace
