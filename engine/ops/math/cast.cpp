// Cast (the attribute `to` is ONNX's number of a type) and CastLike (the type of a second input). The
// gradient is cast back. With `saturate` = 1, the default, numbers beyond a float8 type become its largest.
// Strings are not supported.
#include "engine/ops/core/cast_elements.h"

#include <fmt/format.h>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

using base::badInput;

/// The types of TensorProto.DataType; 0 and those that are missing are not supported.
constexpr std::pair<std::int64_t, ElementType> kTypes[] = {
    {1, ElementType::float32},     {2, ElementType::uint8},          {3, ElementType::int8},
    {4, ElementType::uint16},      {5, ElementType::int16},          {6, ElementType::int32},
    {7, ElementType::int64},       {9, ElementType::boolean},        {10, ElementType::float16},
    {11, ElementType::float64},    {12, ElementType::uint32},        {13, ElementType::uint64},
    {16, ElementType::bfloat16},   {17, ElementType::float8_143fn},  {18, ElementType::float8_143fnuz},
    {19, ElementType::float8_152}, {20, ElementType::float8_152fnuz}};

std::int64_t numberOf(ElementType type) {
  for (const auto& [number, each] : kTypes) {
    if (each == type) return number;
  }
  return 0;
}

Result<ElementType> targetOf(const OperatorCall& call) {
  if (call.node.op == "CastLike") return call.input(1).element;
  const std::int64_t wanted = graph::intAttribute(call.node, "to", 0);
  for (const auto& [number, type] : kTypes) {
    if (number == wanted) return type;
  }
  return badInput(fmt::format("{}: cannot cast to ONNX's data type {}{}; it must be a number or bool",
                              call.title(), wanted, wanted == 8 ? " (string)" : ""));
}

Result<std::vector<TensorType>> inferCast(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType type, targetOf(call));
  return std::vector<TensorType>{{type, call.input(0).shape}};
}

Result<Kernel> castKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const ElementType type, targetOf(call));
  return Kernel{
      [from = call.input(0).element, to = type, count = call.input(0).elements(),
       saturate = graph::intAttribute(call.node, "saturate", 1) != 0](const KernelArguments& a) -> Status {
        castElements(from, a.inputs[0].data(), to, a.outputs[0].data(), count, saturate);
        return {};
      },
      0};
}

std::vector<Work> castWork(const OperatorCall& call) {
  const Result<ElementType> type = targetOf(call);
  if (*type == call.input(0).element) return {};
  return {{Map{MapFunction::cast, call.input(0).elements(), 1, *type, false}, 1, ""}};
}

Status castGradient(GradientBuilder& builder) {
  const ElementType own = builder.call().input(0).element;
  PIPESCOPE_ASSIGN(const ElementType to, targetOf(builder.call()));
  if (!isFloat(own) || !isFloat(to)) {
    return badInput(fmt::format("{}: cannot train through a cast from {} to {}", builder.call().title(),
                                graph::toString(own), graph::toString(to)));
  }
  return builder.addFor(0, "Cast", "grad_input", {builder.outputGradient(0)}, {{"to", numberOf(own)}});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(cast) {
  registry.add({.type = "Cast",
                .attributes = {{"to", AttributeKind::integer}, {"saturate", AttributeKind::integer}},
                .infer = inferCast,
                .kernel = castKernel,
                .work = castWork,
                .gradient = castGradient});
  registry.add({.type = "CastLike",
                .attributes = {{"saturate", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferCast,
                .kernel = castKernel,
                .work = castWork,
                .gradient = castGradient});
}

}  // namespace pipescope::ops
