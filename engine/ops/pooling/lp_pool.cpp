// LpPool and GlobalLpPool: y = (Σ |x|ᵖ)^(1/p) over each window; GradLpPool: x, y, dy → dx.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/window.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct LpSetup {
  Window window;
  std::int64_t planes = 0, p = 2;

  std::int64_t outputs() const { return planes * window.positions(); }
};

Result<LpSetup> lpPoolSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  if (x.size() < 3)
    return badInput(
        fmt::format("{}: its input has {} axes; it needs a batch, channels and at least one spatial axis",
                    call.title(), x.size()));
  LpSetup setup;
  setup.planes = x[0] * x[1];
  setup.p = graph::intAttribute(call.node, "p", 2);
  if (setup.p < 1 || setup.p > 100)
    return badInput(fmt::format("{}: p is {}; it must be 1 to 100", call.title(), setup.p));
  std::vector<std::int64_t> kernel = graph::intsAttribute(call.node, "kernel_shape", {});
  if (call.node.op == "GlobalLpPool") kernel.assign(x.begin() + 2, x.end());
  if (kernel.empty()) return badInput(fmt::format("{}: attribute kernel_shape is missing", call.title()));
  PIPESCOPE_ASSIGN(setup.window, windowOf(call, x, kernel));
  return setup;
}

Result<std::vector<TensorType>> inferLp(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LpSetup setup, lpPoolSetupOf(call));
  return std::vector<TensorType>{{call.input(0).element, pooledShape(call, setup.window)}};
}

/// Calls visit(output index, input index) for every tap within the input, with ascending outputs.
template <class Visit>
void forTaps(const LpSetup& setup, Visit visit) {
  const Window& w = setup.window;
  const std::int64_t taps = w.taps(), inputs = w.inputs(), positions = w.positions();
  for (std::int64_t plane = 0; plane < setup.planes; ++plane) {
    Odometer position(w.output.data(), w.axes());
    for (std::int64_t at = 0; at < positions; ++at, position.next()) {
      Odometer tap(w.kernel.data(), w.axes());
      for (std::int64_t t = 0; t < taps; ++t, tap.next()) {
        std::int64_t offset = 0;
        bool inside = true;
        for (std::size_t a = 0; a < w.axes(); ++a) {
          const std::int64_t i = position[a] * w.stride[a] - w.padBegin[a] + tap[a] * w.dilation[a];
          inside = inside && i >= 0 && i < w.input[a];
          offset = offset * w.input[a] + i;
        }
        if (inside) visit(plane * positions + at, plane * inputs + offset);
      }
    }
  }
}

template <class T>
T power(T x, std::int64_t p) {
  if (p > 4) return std::pow(x, static_cast<T>(p));
  T result = T(1);
  for (std::int64_t i = 0; i < p; ++i) result *= x;
  return result;
}

Result<Kernel> lpKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LpSetup setup, lpPoolSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup, outputs = setup.outputs()](const KernelArguments& a) -> Status {
                    const T* x = a.input<T>(0);
                    T* y = a.output<T>(0);
                    std::fill_n(y, outputs, T(0));
                    forTaps(setup, [&](std::int64_t to, std::int64_t from) {
                      y[to] += power(std::fabs(x[from]), setup.p);
                    });
                    if (setup.p == 1) return {};
                    for (std::int64_t i = 0; i < outputs; ++i)
                      y[i] = setup.p == 2 ? std::sqrt(y[i]) : std::pow(y[i], T(1) / static_cast<T>(setup.p));
                    return {};
                  },
                  0};
  });
}

std::vector<Work> lpWork(const OperatorCall& call) {
  const LpSetup setup = *lpPoolSetupOf(call);
  const ElementType type = call.input(0).element;
  return {{Map{MapFunction::pow, call.input(0).elements(), 1, type, false}, 1, "Power"},
          {poolOf(call.input(0), setup.window, PoolFunction::average), 1, "Sum"},
          {Map{MapFunction::pow, setup.outputs(), 1, type, true}, 1, "Root"}};
}

Status lpGradient(GradientBuilder& builder) {
  return addPoolGradient(builder, "GradLpPool");
}

Result<std::vector<TensorType>> inferLpPoolGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LpSetup setup, lpPoolSetupOf(call));
  return inferPoolGradient(call, setup.window);
}

/// dx = dy · sign x · (|x| ÷ y)^(p − 1), or 0 if y is 0.
Result<Kernel> lpPoolGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LpSetup setup, lpPoolSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup, inputs = call.input(0).elements()](const KernelArguments& a) -> Status {
                    const T *x = a.input<T>(0), *y = a.input<T>(1), *dy = a.input<T>(2);
                    T* dx = a.output<T>(0);
                    std::fill_n(dx, inputs, T(0));
                    forTaps(setup, [&](std::int64_t out, std::int64_t in) {
                      if (y[out] == T(0)) return;
                      const T share = power(std::fabs(x[in]) / y[out], setup.p - 1);
                      dx[in] += x[in] == T(0) ? T(0) : dy[out] * std::copysign(share, x[in]);
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> lpPoolGradientWork(const OperatorCall& call) {
  std::vector<Work> work = lpWork(call);
  std::get<Pool>(work[1].item).backward = true;
  return work;
}

std::vector<AttributeRule> lpPoolAttributes() {
  return {{"auto_pad", AttributeKind::text},
          {"kernel_shape", AttributeKind::integers},
          {"p", AttributeKind::integer},
          {"pads", AttributeKind::integers},
          {"strides", AttributeKind::integers}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(lp_pool) {
  registry.add({.type = "LpPool",
                .attributes = lpPoolAttributes(),
                .infer = inferLp,
                .kernel = lpKernel,
                .work = lpWork,
                .gradient = lpGradient});
  registry.add({.type = "GlobalLpPool",
                .attributes = {{"p", AttributeKind::integer}},
                .infer = inferLp,
                .kernel = lpKernel,
                .work = lpWork,
                .gradient = lpGradient});
  registry.add({.type = "GradLpPool",
                .attributes = lpPoolAttributes(),
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferLpPoolGradient,
                .kernel = lpPoolGradientKernel,
                .work = lpPoolGradientWork});
}

}  // namespace pipescope::ops
