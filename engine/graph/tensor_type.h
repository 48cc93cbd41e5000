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
  boolean
};

/// Size of one element in bytes.
std::int64_t sizeOf(ElementType type);
std::string toString(ElementType type);

/// Extents, outermost first; a scalar has none.
using Shape = std::vector<std::int64_t>;
/// Product of the extents; 1 for a scalar.
std::int64_t elementCount(const Shape& shape);

struct TensorType {
  ElementType element = ElementType::float32;
  Shape shape;
  std::int64_t elements() const { return elementCount(shape); }
  base::Bytes bytes() const { return base::Bytes(elements() * sizeOf(element)); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// "40x10x12x12 float32"; a scalar is "float32".
std::string toString(const TensorType& type);

}  // namespace pipescope::graph
