#include "engine/ops/quantized/scaled_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/ops/core/float8.h"
#include "profiler/base/check.h"

namespace pipescope::ops {
namespace {

using graph::ElementType;

constexpr std::array<float, 8> kFloat4{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
constexpr float kMostFloat4 = 6, kMostBlockScale = 448;  // the largest numbers of float4_121 and float8_143fn
constexpr int kScaleBias = 127;

bool isFloat4(ElementType type) {
  return type == ElementType::float4_121;
}

/// The least power of two, as its exponent, by which `magnitude` can be divided without exceeding `most`.
int leastExponent(float magnitude, float most) {
  if (magnitude <= 0) return 0;
  int exponent = std::ilogb(magnitude) - std::ilogb(most);
  if (std::ldexp(static_cast<double>(most), exponent) < static_cast<double>(magnitude)) ++exponent;
  return std::clamp(exponent, -kScaleBias, kScaleBias);
}

float magnitudeOf(float value) {
  return std::isfinite(value) ? std::fabs(value) : 0;
}

/// Calls body(block, first element, elements) for each block; its elements lie `inner` apart.
template <class Body>
void forBlocks(const BlockLayout& layout, const Body& body) {
  std::int64_t block = 0;
  for (std::int64_t o = 0; o < layout.outer; ++o) {
    for (std::int64_t at = 0; at < layout.length; at += layout.block) {
      for (std::int64_t i = 0; i < layout.inner; ++i) {
        const std::int64_t first = (o * layout.length + at) * layout.inner + i;
        body(block++, first, std::min(layout.block, layout.length - at));
      }
    }
  }
}

/// The number by which the elements of a block are multiplied when they are read.
float scaleOf(ElementType type, const BlockLayout& layout, const std::uint8_t* scales, std::int64_t block) {
  if (!isFloat4(type)) return std::ldexp(1.0F, scales[block] - kScaleBias);
  const int exponent = scales[layout.blocks()] - kScaleBias;
  return std::ldexp(widenedFloat8(ElementType::float8_143fn, scales[block]), exponent);
}

}  // namespace

BlockLayout blockLayout(const graph::Shape& shape, std::int64_t axis, std::int64_t block) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  PIPESCOPE_CHECK(axis < 0 && axis >= -rank && block > 0, "blocks along an axis that is not there");
  BlockLayout layout{.block = block};
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t extent = shape[static_cast<std::size_t>(i)];
    (i < rank + axis ? layout.outer : i == rank + axis ? layout.length : layout.inner) *= extent;
  }
  return layout;
}

std::int64_t blockOf(ElementType type) {
  return isFloat4(type) ? 16 : 32;
}

std::int64_t scaleBytes(ElementType type, const BlockLayout& layout) {
  return layout.blocks() + (isFloat4(type) ? 1 : 0);
}

std::uint8_t narrowedToFloat4(float value) {
  const float magnitude = std::isnan(value) ? 0 : std::min(std::fabs(value), kMostFloat4);
  std::uint8_t pattern = 0;
  while (pattern < 7 && magnitude > kFloat4[pattern + 1]) ++pattern;
  if (pattern < 7) {
    const float middle = (kFloat4[pattern] + kFloat4[pattern + 1]) / 2;
    if (magnitude > middle || (magnitude == middle && pattern % 2 == 1)) ++pattern;
  }
  return static_cast<std::uint8_t>(pattern | (std::signbit(value) ? 8U : 0U));
}

float widenedFloat4(std::uint8_t bits) {
  const float magnitude = kFloat4[bits & 7U];
  return (bits & 8U) != 0 ? -magnitude : magnitude;
}

void narrowToBlocks(ElementType type, const BlockLayout& layout, const float* from, std::uint8_t* values,
                    std::uint8_t* scales) {
  const float most = isFloat4(type) ? kMostFloat4 : float8Definition(type).largest;
  const std::int64_t elements = layout.outer * layout.length * layout.inner;
  if (isFloat4(type)) {
    float largest = 0;
    for (std::int64_t i = 0; i < elements; ++i) largest = std::max(largest, magnitudeOf(from[i]));
    scales[layout.blocks()] =
        static_cast<std::uint8_t>(leastExponent(largest / most, kMostBlockScale) + kScaleBias);
    std::fill_n(values, graph::bytesOf(type, elements), std::uint8_t{0});
  }
  forBlocks(layout, [&](std::int64_t block, std::int64_t first, std::int64_t count) {
    float largest = 0;
    for (std::int64_t k = 0; k < count; ++k)
      largest = std::max(largest, magnitudeOf(from[first + k * layout.inner]));
    if (isFloat4(type)) {
      const int exponent = scales[layout.blocks()] - kScaleBias;
      scales[block] = narrowedToFloat8(ElementType::float8_143fn, std::ldexp(largest / most, -exponent));
    } else {
      scales[block] = static_cast<std::uint8_t>(leastExponent(largest, most) + kScaleBias);
    }
    const float scale = scaleOf(type, layout, scales, block);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t at = first + k * layout.inner;
      const float value = scale > 0 ? from[at] / scale : 0;
      if (isFloat4(type)) {
        values[at / 2] |= static_cast<std::uint8_t>(narrowedToFloat4(value) << (at % 2 * 4));
      } else {
        values[at] = narrowedToFloat8(type, value);
      }
    }
  });
}

void widenBlocks(ElementType type, const BlockLayout& layout, const std::uint8_t* values,
                 const std::uint8_t* scales, float* to) {
  forBlocks(layout, [&](std::int64_t block, std::int64_t first, std::int64_t count) {
    const float scale = scaleOf(type, layout, scales, block);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t at = first + k * layout.inner;
      const float value = isFloat4(type)
                              ? widenedFloat4(static_cast<std::uint8_t>(values[at / 2] >> (at % 2 * 4) & 15U))
                              : widenedFloat8(type, values[at]);
      to[at] = value * scale;
    }
  });
}

}  // namespace pipescope::ops
