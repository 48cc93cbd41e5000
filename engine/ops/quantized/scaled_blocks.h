#pragma once
// Tensors of float8 or float4 in blocks that have a scale each, as tensor cores multiply them.
//
// A block is a run of elements along the axis over which a product sums. Two formats are known:
//
//   elements     block  scale of a block                             name
//   float8       32     a power of two, one byte: exponent + 127     MXFP8
//   float4_121   16     a number of type float8_143fn, one byte,     NVFP4
//                       times a power of two of the whole tensor
//
// float4_121 has the numbers 0, 0.5, 1, 1.5, 2, 3, 4 and 6 with a sign; the first of two lies in the low bits
// of their byte. The power of two of a tensor is the last byte of its scales.
//
// (Sources: Open Compute Project, "OCP Microscaling Formats"; for scales that are rounded up, so that no
// number is cut off, arXiv 2506.08027; for NVFP4 arXiv 2509.25149. Both are without what training with NVFP4
// may add: blocks of 16 x 16 for weights, Hadamard transforms, and rounding at random. Its scale of a tensor
// is any float32; here it is a power of two, as those of float8 are.)
#include <cstdint>

#include "engine/graph/tensor_type.h"

namespace pipescope::ops {

/// The layout of a tensor in blocks along one axis: `outer` pieces, each with `length` elements
/// along the axis, `inner` elements apart. The last block of a line may be shorter.
struct BlockLayout {
  std::int64_t outer = 1, length = 1, inner = 1, block = 1;

  std::int64_t blocksOfLine() const { return (length + block - 1) / block; }
  std::int64_t blocks() const { return outer * inner * blocksOfLine(); }
};

/// The layout of a tensor with blocks along an axis, which is counted from the last one: -1, -2, …
BlockLayout blockLayout(const graph::Shape& shape, std::int64_t axis, std::int64_t block);
/// Elements of a block of this type.
std::int64_t blockOf(graph::ElementType type);
/// Bytes of the scales of a tensor.
std::int64_t scaleBytes(graph::ElementType type, const BlockLayout& layout);

/// The number that is nearest to `value`, ties to even; beyond 6 it is 6. NaN becomes 0, which float4 lacks.
std::uint8_t narrowedToFloat4(float value);
float widenedFloat4(std::uint8_t bits);

/// Writes a tensor of floats as elements of `type` and their scales.
void narrowToBlocks(graph::ElementType type, const BlockLayout& layout, const float* from,
                    std::uint8_t* values, std::uint8_t* scales);
/// Exact.
void widenBlocks(graph::ElementType type, const BlockLayout& layout, const std::uint8_t* values,
                 const std::uint8_t* scales, float* to);

}  // namespace pipescope::ops
