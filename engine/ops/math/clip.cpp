// Clip: x, [least], [most] → min(max(x, least), most); NaN stays. GradClip: x, dy, [least], [most] → dx,
// which is dy within the limits (inclusive) and 0 outside.
#include <fmt/format.h>

#include <limits>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

Status checkLimits(const OperatorCall& call, std::size_t first) {
  for (std::size_t i = first; i < first + 2; ++i) {
    if (!call.has(i)) continue;
    if (call.input(i).element == call.input(0).element && call.input(i).elements() == 1) continue;
    return base::badInput(fmt::format("{}: its limit (input {}) is {}; it must be one {}", call.title(), i,
                                      graph::toString(call.input(i)),
                                      graph::toString(call.input(0).element)));
  }
  return {};
}

template <class T>
struct Limits {
  T least, most;

  Limits(const KernelArguments& a, std::size_t first) {
    constexpr bool kReal = std::is_floating_point_v<T>;
    least = kReal ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    most = kReal ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    if (const T* given = a.input<T>(first)) least = *given;
    if (const T* given = a.input<T>(first + 1)) most = *given;
  }
};

Result<std::vector<TensorType>> inferClip(const OperatorCall& call) {
  PIPESCOPE_TRY(checkLimits(call, 1));
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> clipKernel(const OperatorCall& call) {
  const std::int64_t count = call.input(0).elements();
  return kernelForNumbers(call, call.input(0).element, [count]<class T>(T) {
    return Kernel{[count](const KernelArguments& a) -> Status {
                    const Limits<T> limits(a, 1);
                    mapOne(a.input<T>(0), a.output<T>(0), count,
                           [least = limits.least, most = limits.most](T x) {
                             const T raised = x < least ? least : x;
                             return raised > most ? most : raised;
                           });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> clipWork(const OperatorCall& call) {
  std::vector<Work> work;
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  if (call.has(1)) work.push_back({Map{MapFunction::maximum, all, 1, type, true}, 1, "Min"});
  if (call.has(2)) work.push_back({Map{MapFunction::minimum, all, 1, type, true}, 1, "Max"});
  return work;
}

Status clipGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  if (builder.wants(1) || builder.wants(2))
    return base::badInput(
        fmt::format("{}: cannot train its limits; make them constants", builder.call().title()));
  std::vector<graph::TensorId> inputs{node.inputs[0], builder.outputGradient(0)};
  inputs.insert(inputs.end(), node.inputs.begin() + 1, node.inputs.end());
  return builder.addFor(0, "GradClip", "grad_input", std::move(inputs), {});
}

Result<std::vector<TensorType>> inferGradClip(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  PIPESCOPE_TRY(checkLimits(call, 2));
  return std::vector<TensorType>{call.input(1)};
}

Result<Kernel> gradClipKernel(const OperatorCall& call) {
  const std::int64_t count = call.input(0).elements();
  const Broadcast setup({count}, {{count}, {count}});
  return kernelForFloats(call, call.input(0).element, [setup]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    const Limits<T> limits(a, 2);
                    mapTwo(setup, a.input<T>(0), a.input<T>(1), a.output<T>(0),
                           [least = limits.least, most = limits.most](T x, T dy) {
                             return x < least || x > most ? T(0) : dy;
                           });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradClipWork(const OperatorCall& call) {
  return {{Map{MapFunction::select, call.input(0).elements(), 2, call.input(0).element, true}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(clip) {
  registry.add({.type = "Clip",
                .maxInputs = 3,
                .infer = inferClip,
                .kernel = clipKernel,
                .work = clipWork,
                .gradient = clipGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradClip",
                .minInputs = 2,
                .maxInputs = 4,
                .infer = inferGradClip,
                .kernel = gradClipKernel,
                .work = gradClipWork,
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops
