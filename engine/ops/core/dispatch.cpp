#include "engine/ops/core/dispatch.h"

#include <fmt/format.h>

namespace pipescope::ops {

base::Error unsupportedType(const OperatorCall& call, ElementType type, const std::string& supported) {
  return base::badInput(
      fmt::format("{}: cannot compute in {}; there are kernels for {}{}", call.title(), graph::toString(type),
                  supported, graph::isFloat8(type) ? ", so cast it to float16, bfloat16 or float32" : ""));
}

bool isFloat(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64 || type == ElementType::float16 ||
         type == ElementType::bfloat16 || graph::isFloat8(type);
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
