// AssignState, of the domain "pipescope": the first input stands for a parameter, the second is its new
// value, which is returned. The reader of ONNX files makes a StateUpdate of it, by which a buffer that a
// PyTorch model changes (a running mean, a counter) moves after each micro-batch.
#include <fmt/format.h>

#include <cstring>

#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/operator.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferAssignState(const OperatorCall& call) {
  const TensorType &old = call.input(0), &value = call.input(1);
  if (old.shape == value.shape && old.element == value.element) return std::vector<TensorType>{old};
  return base::badInput(fmt::format("{}: the new value is {}, but the old one is {}; they must be equal",
                                    call.title(), graph::toString(value), graph::toString(old)));
}

Result<Kernel> assignStateKernel(const OperatorCall&) {
  return Kernel{[](const KernelArguments& a) -> Status {
                  const std::span<const std::byte> from = a.inputs[1];
                  if (!from.empty()) std::memcpy(a.outputs[0].data(), from.data(), from.size());
                  return {};
                },
                0};
}

/// One pass that reads and writes, as a cast does.
std::vector<Work> assignStateWork(const OperatorCall& call) {
  return {{Map{MapFunction::cast, call.input(0).elements(), 1, call.input(0).element, false}, 1, ""}};
}

Status assignStateGradient(GradientBuilder&) {
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(assign_state) {
  registry.add({.type = "AssignState",
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferAssignState,
                .kernel = assignStateKernel,
                .work = assignStateWork,
                .gradient = assignStateGradient});
}

}  // namespace pipescope::ops
