#include "engine/graph/tensor_type.h"

namespace pipescope::graph {

std::int64_t sizeOf(ElementType type) {
  switch (type) {
    case ElementType::float64:
    case ElementType::int64:
    case ElementType::uint64:
      return 8;
    case ElementType::float32:
    case ElementType::int32:
    case ElementType::uint32:
      return 4;
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::int16:
    case ElementType::uint16:
      return 2;
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::boolean:
    case ElementType::float8_143:
    case ElementType::float8_143fn:
    case ElementType::float8_143fnuz:
    case ElementType::float8_152:
    case ElementType::float8_152fnuz:
    case ElementType::float4_121:
      return 1;
  }
  return 1;
}

std::int64_t bytesOf(ElementType type, std::int64_t elements) {
  return type == ElementType::float4_121 ? (elements + 1) / 2 : elements * sizeOf(type);
}

std::string toString(ElementType type) {
  static constexpr const char* names[] = {
      "float32",      "float16",        "bfloat16",   "float64",        "int8",      "int16", "int32",
      "int64",        "uint8",          "uint16",     "uint32",         "uint64",    "bool",  "float8_143",
      "float8_143fn", "float8_143fnuz", "float8_152", "float8_152fnuz", "float4_121"};
  return names[static_cast<std::size_t>(type)];
}

std::int64_t elementCount(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::string toString(const TensorType& type) {
  std::string text;
  for (const std::int64_t extent : type.shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? toString(type.element) : text + " " + toString(type.element);
}

}  // namespace pipescope::graph
