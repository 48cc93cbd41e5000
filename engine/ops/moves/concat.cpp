// Concat joins its inputs along an axis. The gradient is a Slice for each input.
#include <fmt/format.h>

#include <cstring>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"
#include "engine/ops/moves/element_move.h"

namespace pipescope::ops {
namespace {

constexpr std::size_t kMostInputs = 1U << 16;

Result<std::size_t> axisOf(const OperatorCall& call) {
  if (!call.node.attributes.contains("axis"))
    return base::badInput(fmt::format("{}: attribute axis is missing", call.title()));
  return axisAttribute(call, 0, call.input(0).shape.size());
}

Result<std::vector<TensorType>> inferConcat(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::size_t axis, axisOf(call));
  TensorType type = call.input(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.has(i)) return base::badInput(fmt::format("{}: input {} is left out", call.title(), i));
    TensorType other = call.input(i);
    const std::int64_t extent = axis < other.shape.size() ? other.shape[axis] : 0;
    if (axis < other.shape.size()) other.shape[axis] = type.shape[axis];
    if (other != type) {
      return base::badInput(
          fmt::format("{}: input {} is {} and input 0 is {}; they must have one element type and be alike "
                      "but for axis {}",
                      call.title(), i, graph::toString(call.input(i)), graph::toString(call.input(0)), axis));
    }
    type.shape[axis] += extent;
  }
  return inferredAs(call, type.element, type.shape);
}

/// The bytes that each input adds to every row of the output.
std::vector<std::size_t> runBytes(const OperatorCall& call, std::size_t axis) {
  std::vector<std::size_t> runs;
  for (const TensorType* type : call.inputs) {
    runs.push_back(static_cast<std::size_t>(extentsWithin(type->shape, axis, type->shape.size()) *
                                            graph::sizeOf(type->element)));
  }
  return runs;
}

Result<Kernel> concatKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::size_t axis, axisOf(call));
  const std::int64_t outer = extentsWithin(call.input(0).shape, 0, axis);
  std::size_t row = 0;
  std::vector<std::size_t> runs = runBytes(call, axis);
  for (const std::size_t run : runs) row += run;
  return Kernel{[runs = std::move(runs), outer, row](const KernelArguments& a) -> Status {
                  std::byte* to = a.outputs[0].data();
                  for (std::size_t i = 0; i < runs.size(); to += runs[i], ++i) {
                    if (runs[i] == 0) continue;
                    const std::byte* from = a.inputs[i].data();
                    for (std::int64_t o = 0; o < outer; ++o) {
                      const auto at = static_cast<std::size_t>(o);
                      std::memcpy(to + at * row, from + at * runs[i], runs[i]);
                    }
                  }
                  return {};
                },
                0};
}

std::vector<Work> concatWork(const OperatorCall& call) {
  const std::size_t axis = *axisOf(call);
  std::vector<Work> work;
  for (const TensorType* type : call.inputs) {
    const std::int64_t run = extentsWithin(type->shape, axis, type->shape.size());
    work.push_back({Rearrange{type->elements(), run, type->element}, 1, "Copy"});
  }
  return work;
}

Status concatGradient(GradientBuilder& builder) {
  const OperatorCall& call = builder.call();
  PIPESCOPE_ASSIGN(const std::size_t axis, axisOf(call));
  const graph::TensorId dy = builder.outputGradient(0);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::int64_t end = begin + call.input(i).shape[axis];
    if (builder.wants(i)) {
      PIPESCOPE_TRY(builder.addFor(
          i, "Slice", "grad_input" + std::to_string(i), {dy},
          {{"axes", Ints{static_cast<std::int64_t>(axis)}}, {"starts", Ints{begin}}, {"ends", Ints{end}}}));
    }
    begin = end;
  }
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(concat) {
  registry.add({.type = "Concat",
                .attributes = {{"axis", AttributeKind::integer}},
                .maxInputs = kMostInputs,
                .infer = inferConcat,
                .kernel = concatKernel,
                .work = concatWork,
                .gradient = concatGradient});
}

}  // namespace pipescope::ops
