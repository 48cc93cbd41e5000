#pragma once
// Helpers that operator files share: choosing a kernel by element type, and common checks.
#include <type_traits>
#include <utility>

#include "engine/ops/core/half.h"
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// A kernel that calls `run` with a plan of its own. One closure for all operators and element types with
/// such a plan: a closure of each would be as much code as the loop that it calls.
template <class Plan>
Kernel kernelOf(const Plan& plan, std::type_identity_t<Status (*)(const KernelArguments&, const Plan&)> run,
                std::int64_t scratchBytes = 0) {
  return {[plan, run](const KernelArguments& a) { return run(a, plan); }, scratchBytes};
}

/// The sentence for an element type that an operator has no kernel for.
base::Error unsupportedType(const OperatorCall& call, ElementType type, const std::string& supported);

/// Runs a float32 kernel on float16 or bfloat16 operands: all inputs of `type` are widened into scratch, the
/// kernel runs on those, and its outputs of `type` are rounded once (stochastically where the run's identity
/// says so). Operands of other types pass as they are.
Kernel halfKernel(const OperatorCall& call, ElementType type, Kernel inner);

/// maker(float{}) or maker(double{}) by the element type, in half precision through halfKernel(); any other
/// type is refused.
template <class Maker>
Result<Kernel> kernelForFloats(const OperatorCall& call, ElementType type, Maker maker) {
  switch (type) {
    case ElementType::float32:
      return maker(float{});
    case ElementType::float64:
      return maker(double{});
    case ElementType::float16:
    case ElementType::bfloat16: {
      Result<Kernel> inner = maker(float{});
      if (!inner.ok()) return inner;
      return halfKernel(call, type, std::move(*inner));
    }
    default:
      return unsupportedType(call, type, "floating-point types");
  }
}

/// maker(std::int8_t{}) … maker(std::uint64_t{}); `supported` completes the sentence for other types.
template <class Maker>
Result<Kernel> kernelForIntegers(const OperatorCall& call, ElementType type, Maker maker,
                                 const std::string& supported = "integer types") {
  switch (type) {
    case ElementType::int8:
      return maker(std::int8_t{});
    case ElementType::int16:
      return maker(std::int16_t{});
    case ElementType::int32:
      return maker(std::int32_t{});
    case ElementType::int64:
      return maker(std::int64_t{});
    case ElementType::uint8:
      return maker(std::uint8_t{});
    case ElementType::uint16:
      return maker(std::uint16_t{});
    case ElementType::uint32:
      return maker(std::uint32_t{});
    case ElementType::uint64:
      return maker(std::uint64_t{});
    default:
      return unsupportedType(call, type, supported);
  }
}

/// All of the above: every type but bool.
template <class Maker>
Result<Kernel> kernelForNumbers(const OperatorCall& call, ElementType type, Maker maker) {
  switch (type) {
    case ElementType::float32:
    case ElementType::float64:
    case ElementType::float16:
    case ElementType::bfloat16:
      return kernelForFloats(call, type, maker);
    default:
      return kernelForIntegers(call, type, maker, "numbers");
  }
}

/// Every type; bool as maker(bool{}), one byte an element that is 0 or 1.
template <class Maker>
Result<Kernel> kernelForAll(const OperatorCall& call, ElementType type, Maker maker) {
  return type == ElementType::boolean ? Result<Kernel>(maker(bool{})) : kernelForNumbers(call, type, maker);
}

/// For kernels that move elements and never look at them: maker(std::uint8_t{}) … maker(std::uint64_t{}) by
/// the element's size.
template <class Maker>
Result<Kernel> kernelForSizes(ElementType type, Maker maker) {
  switch (graph::sizeOf(type)) {
    case 1:
      return maker(std::uint8_t{});
    case 2:
      return maker(std::uint16_t{});
    case 4:
      return maker(std::uint32_t{});
    default:
      return maker(std::uint64_t{});
  }
}

bool isFloat(ElementType type);
bool isInteger(ElementType type);

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
