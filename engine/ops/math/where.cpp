// Operators Where and GradWhere. Where: condition, a, b → a where the condition holds, otherwise b; all three
// broadcast. GradWhere: condition, dy → dy where the condition equals the attribute `branch` (1 for the
// gradient of a), otherwise 0.
#include <fmt/format.h>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

Status checkCondition(const OperatorCall& call) {
  if (call.input(0).element == ElementType::boolean) return {};
  return base::badInput(
      fmt::format("{}: its condition is {}; it must be bool", call.title(), graph::toString(call.input(0))));
}

Result<std::vector<TensorType>> inferWhere(const OperatorCall& call) {
  PIPESCOPE_TRY(checkCondition(call));
  PIPESCOPE_TRY(requireSameElementTypes(call, {1, 2}));
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  return std::vector<TensorType>{{call.input(1).element, shape}};
}

Result<Kernel> whereKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  const Broadcast setup(shape, {call.input(0).shape, call.input(1).shape, call.input(2).shape});
  return kernelForSizes(call.input(1).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    mapThree(setup, a.input<std::uint8_t>(0), a.input<T>(1), a.input<T>(2), a.output<T>(0),
                             [](std::uint8_t which, T x, T y) { return which != 0 ? x : y; });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> whereWork(const OperatorCall& call) {
  const std::int64_t elements = call.outputs.empty() ? 0 : call.outputs[0].elements();
  return {{Map{MapFunction::select, elements, 3, call.input(1).element, false}, 1, ""}};
}

Status whereGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(builder.call()));
  for (std::size_t i = 1; i < 3; ++i) {
    if (!builder.wants(i)) continue;
    PIPESCOPE_ASSIGN(const graph::TensorId gradient,
                     builder.add("GradWhere", fmt::format("grad_{}", i),
                                 {builder.node().inputs[0], builder.outputGradient(0)},
                                 {{"branch", std::int64_t{i == 1}}}));
    PIPESCOPE_TRY(addBroadcastGradient(builder, i, gradient, shape));
  }
  return {};
}

Result<std::vector<TensorType>> inferGradWhere(const OperatorCall& call) {
  PIPESCOPE_TRY(checkCondition(call));
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  if (shape == call.input(1).shape) return std::vector<TensorType>{call.input(1)};
  return base::badInput(fmt::format("{}: its condition {} does not spread over {}", call.title(),
                                    graph::toString(call.input(0)), graph::toString(call.input(1))));
}

Result<Kernel> gradWhereKernel(const OperatorCall& call) {
  const Broadcast setup(call.input(1).shape, {call.input(0).shape, call.input(1).shape});
  const bool branch = graph::intAttribute(call.node, "branch", 1) != 0;
  return kernelForFloats(call, call.input(1).element, [&]<class T>(T) {
    return Kernel{[setup, branch](const KernelArguments& a) -> Status {
                    mapTwo(setup, a.input<std::uint8_t>(0), a.input<T>(1), a.output<T>(0),
                           [branch](std::uint8_t which, T dy) { return (which != 0) == branch ? dy : T(0); });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradWhereWork(const OperatorCall& call) {
  return {{Map{MapFunction::select, call.input(1).elements(), 2, call.input(1).element, true}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(where) {
  registry.add({.type = "Where",
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferWhere,
                .kernel = whereKernel,
                .work = whereWork,
                .gradient = whereGradient});
  registry.add({.type = "GradWhere",
                .attributes = {{"branch", AttributeKind::integer}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGradWhere,
                .kernel = gradWhereKernel,
                .work = gradWhereWork,
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops
