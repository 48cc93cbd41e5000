// Runs float32 kernels on half-precision operands.
#include <algorithm>
#include <memory>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/random.h"
#include "engine/ops/core/recomputation.h"

namespace pipescope::ops {
namespace {

/// The layout of the scratch memory: lists of spans, then widened operands, then the kernel's own scratch.
struct HalfSetup {
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
Status runWidened(const HalfSetup& setup, const Kernel& inner, const KernelArguments& a) {
  std::byte* base = a.scratch.data();
  auto* inputs = reinterpret_cast<std::span<const std::byte>*>(base);
  auto* outputs = reinterpret_cast<std::span<std::byte>*>(base + setup.outputSpans);
  std::byte* free = base + setup.operands;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    std::construct_at(inputs + i, a.inputs[i]);
    if (setup.inputs[i] < 0 || a.inputs[i].empty()) continue;
    widen(a.input<Half>(i), reinterpret_cast<float*>(free), setup.inputs[i]);
    inputs[i] = {free, static_cast<std::size_t>(setup.inputs[i] * 4)};
    free += lines(setup.inputs[i] * 4);
  }
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    std::construct_at(outputs + i, a.outputs[i]);
    if (setup.outputs[i] < 0 || a.outputs[i].empty()) continue;
    outputs[i] = {free, static_cast<std::size_t>(setup.outputs[i] * 4)};
    free += lines(setup.outputs[i] * 4);
  }
  KernelArguments within{{inputs, a.inputs.size()},
                         {outputs, a.outputs.size()},
                         a.scratch.subspan(static_cast<std::size_t>(setup.kernelScratch)),
                         a.identity,
                         a.executor};
  PIPESCOPE_TRY(inner.run(within));
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (setup.outputs[i] < 0 || a.outputs[i].empty()) continue;
    const auto* wide = reinterpret_cast<const float*>(outputs[i].data());
    if (a.identity.stochasticRounding) {
      narrowStochastically(wide, a.output<Half>(i), setup.outputs[i],
                           RandomSequence(a.identity, setup.names[i]));
    } else {
      narrow(wide, a.output<Half>(i), setup.outputs[i]);
    }
  }
  return {};
}

}  // namespace

Kernel halfKernel(const OperatorCall& call, ElementType type, Kernel inner) {
  HalfSetup setup;
  for (const TensorType* input : call.inputs)
    setup.inputs.push_back(input && input->element == type ? input->elements() : -1);
  for (const TensorType& output : call.outputs) {
    setup.outputs.push_back(output.element == type ? output.elements() : -1);
    setup.names.push_back(originOf(call.node.name) + "/rounding" + std::to_string(setup.names.size()));
  }
  const auto spans = static_cast<std::int64_t>(sizeof(std::span<std::byte>));
  setup.outputSpans = lines(spans * static_cast<std::int64_t>(setup.inputs.size()));
  setup.operands = setup.outputSpans + lines(spans * static_cast<std::int64_t>(setup.outputs.size()));
  setup.kernelScratch = setup.operands + widenedBytes(setup.inputs) + widenedBytes(setup.outputs);
  const std::int64_t bytes = setup.kernelScratch + inner.scratchBytes;
  if (type == ElementType::float16) {
    return {[setup, inner](const KernelArguments& a) { return runWidened<Float16>(setup, inner, a); }, bytes};
  }
  return {[setup, inner](const KernelArguments& a) { return runWidened<BFloat16>(setup, inner, a); }, bytes};
}

}  // namespace pipescope::ops
