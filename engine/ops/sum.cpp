// Sum of one or more tensors of one shape, added in the order of the inputs.
#include <fmt/format.h>

#include <algorithm>

#include "engine/ops/dispatch.h"
#include "engine/ops/gradient_builder.h"

namespace pipescope::ops {
namespace {

constexpr std::size_t kMostInputs = 1 << 20;

Result<std::vector<TensorType>> inferSum(const OperatorCall& call) {
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.has(i))
      return base::badInput(fmt::format("{}: input {} is left out, but is needed", call.title(), i));
    PIPESCOPE_TRY(requireSameTypes(call, 0, i));
  }
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> sumKernel(const OperatorCall& call) {
  return kernelForFloats(call, call.input(0).element, [count = call.input(0).elements()]<class T>(T) {
    return Kernel{[count](const KernelArguments& a) -> Status {
                    T* y = a.output<T>(0);
                    if (y != a.input<T>(0)) std::copy_n(a.input<T>(0), count, y);
                    for (std::size_t each = 1; each < a.inputs.size(); ++each) {
                      const T* x = a.input<T>(each);
                      for (std::int64_t i = 0; i < count; ++i) y[i] += x[i];
                    }
                    return {};
                  },
                  0};
  });
}

std::vector<Work> sumWork(const OperatorCall& call) {
  const auto additions = static_cast<std::int64_t>(call.inputs.size()) - 1;
  if (additions == 0) return {};
  return {{Map{"add", call.input(0).elements(), 2, call.input(0).element, true}, additions, ""}};
}

Status sumGradient(GradientBuilder& builder) {
  for (std::size_t i = 0; i < builder.call().inputs.size(); ++i) {
    if (builder.wants(i)) builder.setInputGradient(i, builder.outputGradient(0));
  }
  return {};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(sum) {
  registry.add({.type = "Sum",
                .maxInputs = kMostInputs,
                .infer = inferSum,
                .kernel = sumKernel,
                .work = sumWork,
                .gradient = sumGradient,
                .inPlaceInput = 0});
}

}  // namespace pipescope::ops
