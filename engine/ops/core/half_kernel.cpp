// Runs float32 kernels on half-precision operands.
#include <algorithm>
#include <memory>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/random.h"
#include "engine/ops/core/recomputation.h"

namespace pipescope::ops {
namespace {

/// The layout of the scratch memory: lists of spans, then widened operands, then the kernel's own scratch.
struct HalfPlan {
  std::vector<std::int64_t> inputs, outputs;  ///< elements to convert; −1: it passes unchanged
  std::vector<std::string> names;             ///< keys of the random sequences of the outputs
  std::int64_t outputSpans = 0, operands = 0, kernelScratch = 0;
};

constexpr std::int64_t lines(std::int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// The bytes of all converted operands.
std::int64_t widenedBytes(const std::vector<std::int64_t>& elements) {
  std::int64_t bytes = 0;
  for (const std::int64_t count : elements) bytes += count < 0 ? 0 : lines(count * 4);
  return bytes;
}

template <class Half>
Status runWidened(const HalfPlan& plan, const Kernel& inner, const KernelArguments& a) {
  std::byte* base = a.scratch.data();
  auto* inputs = reinterpret_cast<std::span<const std::byte>*>(base);
  auto* outputs = reinterpret_cast<std::span<std::byte>*>(base + plan.outputSpans);
  std::byte* free = base + plan.operands;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    std::construct_at(inputs + i, a.inputs[i]);
    if (plan.inputs[i] < 0 || a.inputs[i].empty()) continue;
    widen(a.input<Half>(i), reinterpret_cast<float*>(free), plan.inputs[i]);
    inputs[i] = {free, static_cast<std::size_t>(plan.inputs[i] * 4)};
    free += lines(plan.inputs[i] * 4);
  }
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    std::construct_at(outputs + i, a.outputs[i]);
    if (plan.outputs[i] < 0 || a.outputs[i].empty()) continue;
    outputs[i] = {free, static_cast<std::size_t>(plan.outputs[i] * 4)};
    free += lines(plan.outputs[i] * 4);
  }
  KernelArguments within{{inputs, a.inputs.size()},
                         {outputs, a.outputs.size()},
                         a.scratch.subspan(static_cast<std::size_t>(plan.kernelScratch)),
                         a.identity,
                         a.executor};
  PIPESCOPE_TRY(inner.run(within));
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (plan.outputs[i] < 0 || a.outputs[i].empty()) continue;
    const auto* wide = reinterpret_cast<const float*>(outputs[i].data());
    if (a.identity.stochasticRounding) {
      narrowStochastically(wide, a.output<Half>(i), plan.outputs[i],
                           RandomSequence(a.identity, plan.names[i]));
    } else {
      narrow(wide, a.output<Half>(i), plan.outputs[i]);
    }
  }
  return {};
}

}  // namespace

Kernel halfKernel(const OperatorCall& call, ElementType type, Kernel inner) {
  HalfPlan plan;
  for (const TensorType* input : call.inputs)
    plan.inputs.push_back(input && input->element == type ? input->elements() : -1);
  for (const TensorType& output : call.outputs) {
    plan.outputs.push_back(output.element == type ? output.elements() : -1);
    plan.names.push_back(originOf(call.node.name) + "/rounding" + std::to_string(plan.names.size()));
  }
  const auto spans = static_cast<std::int64_t>(sizeof(std::span<std::byte>));
  plan.outputSpans = lines(spans * static_cast<std::int64_t>(plan.inputs.size()));
  plan.operands = plan.outputSpans + lines(spans * static_cast<std::int64_t>(plan.outputs.size()));
  plan.kernelScratch = plan.operands + widenedBytes(plan.inputs) + widenedBytes(plan.outputs);
  const std::int64_t bytes = plan.kernelScratch + inner.scratchBytes;
  if (type == ElementType::float16) {
    return {[plan, inner](const KernelArguments& a) { return runWidened<Float16>(plan, inner, a); }, bytes};
  }
  return {[plan, inner](const KernelArguments& a) { return runWidened<BFloat16>(plan, inner, a); }, bytes};
}

}  // namespace pipescope::ops
