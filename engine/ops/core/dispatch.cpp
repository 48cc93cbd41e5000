#include "engine/ops/core/dispatch.h"

#include <fmt/format.h>

#include <algorithm>

namespace pipescope::ops {

base::Error unsupportedType(const OperatorCall& call, ElementType type, const std::string& supported) {
  return base::badInput(
      fmt::format("{}: cannot compute in {}; there are kernels for {}{}", call.title(), graph::toString(type),
                  supported, graph::isFloat8(type) ? ", so cast it to float16, bfloat16 or float32" : ""));
}

Result<Kernel> makeKernelForFloats(const OperatorCall& call, ElementType type, KernelMaker ofFloat,
                                   KernelMaker ofDouble) {
  switch (type) {
    case ElementType::float32:
      return ofFloat.make(ofFloat.maker);
    case ElementType::float64:
      return ofDouble.make(ofDouble.maker);
    case ElementType::float16:
    case ElementType::bfloat16: {
      PIPESCOPE_ASSIGN(Kernel inner, ofFloat.make(ofFloat.maker));
      return halfKernel(call, type, std::move(inner));
    }
    default:
      return unsupportedType(call, type, "floating-point types");
  }
}

Result<Kernel> makeKernelForIntegers(const OperatorCall& call, ElementType type,
                                     const std::array<KernelMaker, 8>& makers, const std::string& supported) {
  using enum ElementType;
  constexpr std::array kOrder{int8, int16, int32, int64, uint8, uint16, uint32, uint64};
  const auto found = std::ranges::find(kOrder, type);
  if (found == kOrder.end()) return unsupportedType(call, type, supported);
  const KernelMaker& chosen = makers[static_cast<std::size_t>(found - kOrder.begin())];
  return chosen.make(chosen.maker);
}

bool isFloat(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64 || type == ElementType::float16 ||
         type == ElementType::bfloat16 || graph::isFloat8(type) || type == ElementType::float4_121;
}

bool isInteger(ElementType type) {
  return !isFloat(type) && type != ElementType::boolean;
}

Status requireSameElementTypes(const OperatorCall& call, const std::vector<std::size_t>& inputs) {
  const std::size_t first = inputs.front();
  for (const std::size_t i : inputs) {
    if (!call.has(i) || call.input(i).element == call.input(first).element) continue;
    return base::badInput(fmt::format("{}: input {} is {} and input {} is {}; give both one element type",
                                      call.title(), first, graph::toString(call.input(first).element), i,
                                      graph::toString(call.input(i).element)));
  }
  return {};
}

Status requireSameTypes(const OperatorCall& call, std::size_t a, std::size_t b) {
  if (call.input(a) == call.input(b)) return {};
  return base::badInput(fmt::format("{}: input {} is {} and input {} is {}; they must be alike", call.title(),
                                    a, graph::toString(call.input(a)), b, graph::toString(call.input(b))));
}

}  // namespace pipescope::ops
