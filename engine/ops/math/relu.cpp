// Relu and GradRelu. NaN stays NaN.
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/ranges.h"

namespace pipescope::ops {
namespace {

/// x = y is allowed, in a loop of its own: the compiler then sees one pointer and uses vectors.
template <class T>
void relu(const T* x, T* y, std::int64_t count) {
  if (x == y) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = y[i] < T(0) ? T(0) : y[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] < T(0) ? T(0) : x[i];
  }
}

/// dx may lie over dy.
template <class T>
void reluGradient(const T* y, const T* dy, T* dx, std::int64_t count) {
  if (dx == dy) {
    for (std::int64_t i = 0; i < count; ++i) dx[i] = y[i] <= T(0) ? T(0) : dx[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) dx[i] = y[i] <= T(0) ? T(0) : dy[i];
  }
}

Result<std::vector<TensorType>> inferRelu(const OperatorCall& call) {
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> reluKernel(const OperatorCall& call) {
  return kernelForFloats(call, call.input(0).element, [count = call.input(0).elements()]<class T>(T) {
    return Kernel{[count](const KernelArguments& a) -> Status {
                    forRanges(a, count, [&](std::int64_t first, std::int64_t end) {
                      relu(a.input<T>(0) + first, a.output<T>(0) + first, end - first);
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> reluWork(const OperatorCall& call) {
  return {{Map{MapFunction::relu, call.input(0).elements(), 1, call.input(0).element, true}, 1, ""}};
}

Status reluGradient(GradientBuilder& builder) {
  return builder.addFor(0, "GradRelu", "grad_input", {builder.node().outputs[0], builder.outputGradient(0)},
                        {});
}

// GradRelu: y, dy → dx.
Result<std::vector<TensorType>> inferGradRelu(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  return std::vector<TensorType>{call.input(1)};
}

Result<Kernel> gradReluKernel(const OperatorCall& call) {
  return kernelForFloats(call, call.input(0).element, [count = call.input(0).elements()]<class T>(T) {
    return Kernel{[count](const KernelArguments& a) -> Status {
                    forRanges(a, count, [&](std::int64_t first, std::int64_t end) {
                      reluGradient(a.input<T>(0) + first, a.input<T>(1) + first, a.output<T>(0) + first,
                                   end - first);
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradReluWork(const OperatorCall& call) {
  return {{Map{MapFunction::reluGradient, call.input(0).elements(), 2, call.input(0).element, true}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(relu) {
  registry.add({.type = "Relu",
                .infer = inferRelu,
                .kernel = reluKernel,
                .work = reluWork,
                .gradient = reluGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradRelu",
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGradRelu,
                .kernel = gradReluKernel,
                .work = gradReluWork,
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops
