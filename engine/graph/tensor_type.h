#pragma once
// Element types and shapes of tensors.
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/base/units.h"

namespace pipescope::graph {

enum class ElementType : std::uint8_t {
  float32,
  float16,
  bfloat16,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
  // float8 with 4 bits of exponent and 3 of fraction (143) or 5 and 2 (152). Devices and ONNX define what the
  // 256 patterns mean in different ways (engine/ops/core/float8.h): plain: as IEEE 754 would; fn: without
  // infinity; fnuz: without infinity and without a negative zero.
  float8_143,
  float8_143fn,
  float8_143fnuz,
  float8_152,
  float8_152fnuz,
  // Numbers of four bits, two in a byte: sign, 2 bits of exponent, 1 of fraction (engine/ops/core/float4.h).
  // Blocks of them have scales in a tensor of their own (engine/ops/core/scaled_blocks.h).
  float4_121
};

/// Size of one element in bytes; 1 for float4, two of which share a byte.
std::int64_t sizeOf(ElementType type);
/// Size of so many elements.
std::int64_t bytesOf(ElementType type, std::int64_t elements);
std::string toString(ElementType type);
/// True if it is one of the float8 types.
constexpr bool isFloat8(ElementType type) {
  return type >= ElementType::float8_143 && type <= ElementType::float8_152fnuz;
}

/// Extents, outermost first; a scalar has none.
using Shape = std::vector<std::int64_t>;
/// Product of the extents; 1 for a scalar.
std::int64_t elementCount(const Shape& shape);

struct TensorType {
  ElementType element = ElementType::float32;
  Shape shape;
  std::int64_t elements() const { return elementCount(shape); }
  base::Bytes bytes() const { return base::Bytes(bytesOf(element, elements())); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// "40x10x12x12 float32"; a scalar is "float32".
std::string toString(const TensorType& type);

}  // namespace pipescope::graph
