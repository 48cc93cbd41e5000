#pragma once
// Helpers of operator files: choosing a kernel by element type, and common checks.
#include <array>
#include <type_traits>
#include <utility>

#include "engine/ops/core/half.h"
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// A kernel that calls `run` with a setup of its own. One closure serves all operators and element types with
/// such a setup, because separate closures would be as much code as the loops that they call.
template <class Plan>
Kernel kernelOf(const Plan& setup, std::type_identity_t<Status (*)(const KernelArguments&, const Plan&)> run,
                std::int64_t scratchBytes = 0) {
  return {[setup, run](const KernelArguments& a) { return run(a, setup); }, scratchBytes};
}

/// The error for an element type for which an operator has no kernel.
base::Error unsupportedType(const OperatorCall& call, ElementType type, const std::string& supported);

/// Runs a float32 kernel on float16 or bfloat16 operands. It widens all inputs of `type` into scratch, runs
/// the kernel, and rounds the outputs of `type` once (stochastically if the run's identity says so). Operands
/// of other types pass unchanged.
Kernel halfKernel(const OperatorCall& call, ElementType type, Kernel inner);

/// A function object that makes a kernel for an element type, without its C++ type: what chooses among the
/// element types is then compiled once.
struct KernelMaker {
  const void* maker = nullptr;
  Result<Kernel> (*make)(const void* maker) = nullptr;
};
template <class T, class Maker>
KernelMaker kernelMaker(const Maker& maker) {
  return {&maker, [](const void* of) -> Result<Kernel> { return (*static_cast<const Maker*>(of))(T{}); }};
}
Result<Kernel> makeKernelForFloats(const OperatorCall& call, ElementType type, KernelMaker ofFloat,
                                   KernelMaker ofDouble);
/// `makers` are in the order of std::int8_t … std::int64_t, std::uint8_t … std::uint64_t.
Result<Kernel> makeKernelForIntegers(const OperatorCall& call, ElementType type,
                                     const std::array<KernelMaker, 8>& makers, const std::string& supported);

/// Calls maker(float{}) or maker(double{}) by the element type, with halfKernel() for half precision. Refuses
/// any other type.
template <class Maker>
Result<Kernel> kernelForFloats(const OperatorCall& call, ElementType type, const Maker& maker) {
  return makeKernelForFloats(call, type, kernelMaker<float>(maker), kernelMaker<double>(maker));
}

/// Calls maker(std::int8_t{}) … maker(std::uint64_t{}); `supported` completes the sentence for other types.
template <class Maker>
Result<Kernel> kernelForIntegers(const OperatorCall& call, ElementType type, const Maker& maker,
                                 const std::string& supported = "integer types") {
  return makeKernelForIntegers(
      call, type,
      {kernelMaker<std::int8_t>(maker), kernelMaker<std::int16_t>(maker), kernelMaker<std::int32_t>(maker),
       kernelMaker<std::int64_t>(maker), kernelMaker<std::uint8_t>(maker), kernelMaker<std::uint16_t>(maker),
       kernelMaker<std::uint32_t>(maker), kernelMaker<std::uint64_t>(maker)},
      supported);
}

/// Handles every type but bool.
template <class Maker>
Result<Kernel> kernelForNumbers(const OperatorCall& call, ElementType type, const Maker& maker) {
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

/// Handles every type; bool as maker(bool{}), one byte per element that is 0 or 1.
template <class Maker>
Result<Kernel> kernelForAll(const OperatorCall& call, ElementType type, const Maker& maker) {
  return type == ElementType::boolean ? Result<Kernel>(maker(bool{})) : kernelForNumbers(call, type, maker);
}

/// Calls maker(std::uint8_t{}) … maker(std::uint64_t{}) by the size of an element, for kernels that move
/// elements without looking at them.
template <class Maker>
Result<Kernel> kernelForSizes(ElementType type, const Maker& maker) {
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

/// True for floating-point types: float16, bfloat16, float32, float64, and the types of 8 bits.
bool isFloat(ElementType type);
bool isInteger(ElementType type);

/// Fails with a sentence unless all given inputs have the same element type.
Status requireSameElementTypes(const OperatorCall& call, const std::vector<std::size_t>& inputs);
/// Fails with a sentence unless two inputs have the same type and shape.
Status requireSameTypes(const OperatorCall& call, std::size_t a, std::size_t b);

/// A number of elements rounded up so that what follows in scratch memory starts at a multiple of 64 bytes.
template <class T>
constexpr std::int64_t paddedElements(std::int64_t elements) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  return (elements + kLine - 1) / kLine * kLine;
}

}  // namespace pipescope::ops
