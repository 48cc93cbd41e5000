#pragma once
// Helpers that operator files share: choosing a kernel by element type, and common checks.
#include <utility>

#include "engine/ops/operator.h"

namespace pipescope::ops {

/// The sentence for an element type that an operator has no kernel for.
base::Error unsupportedType(const OperatorCall& call, ElementType type, const std::string& supported);

/// maker(float{}) or maker(double{}) by the element type; any other type is refused.
template <class Maker>
Result<Kernel> kernelForFloats(const OperatorCall& call, ElementType type, Maker maker) {
  switch (type) {
    case ElementType::float32:
      return maker(float{});
    case ElementType::float64:
      return maker(double{});
    default:
      return unsupportedType(call, type, "float32 and float64");
  }
}

/// All given inputs have one element type.
Status requireSameElementTypes(const OperatorCall& call, const std::vector<std::size_t>& inputs);
/// Two inputs have the same type and shape.
Status requireSameTypes(const OperatorCall& call, std::size_t a, std::size_t b);

/// Elements rounded up so that what follows them in scratch memory starts at a multiple of 64 bytes.
template <class T>
constexpr std::int64_t paddedElements(std::int64_t elements) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  return (elements + kLine - 1) / kLine * kLine;
}

}  // namespace pipescope::ops
