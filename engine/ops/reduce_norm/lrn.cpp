// LRN: y = x ÷ s^beta, s = bias + alpha ÷ size · Σ x² over `size` channels around each (Krizhevsky,
// Sutskever, Hinton: "ImageNet classification with deep convolutional neural networks", 2012); GradLRN: x, dy
// → dx.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

using base::badInput;

struct LrnSetup {
  Rows rows;  ///< batch, channels, positions
  std::int64_t before = 0, after = 0, size = 1;
  double alpha = 1e-4, beta = 0.75, bias = 1;
};

Result<LrnSetup> lrnSetupOf(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  LrnSetup setup;
  setup.size = graph::intAttribute(call.node, "size", 0);
  if (setup.size < 1 || x.size() < 2) {
    return badInput(
        fmt::format("{}: size is {} and its input {}; it needs a size of 1 or more, a batch and channels",
                    call.title(), setup.size, graph::toString(call.input(0))));
  }
  setup.rows = Rows::around(x, 1, 2);
  setup.before = std::min((setup.size - 1) / 2, setup.rows.depth);
  setup.after = std::min(setup.size / 2, setup.rows.depth);
  setup.alpha = graph::floatAttribute(call.node, "alpha", double(1e-4F));
  setup.beta = graph::floatAttribute(call.node, "beta", double(0.75F));
  setup.bias = graph::floatAttribute(call.node, "bias", 1);
  return setup;
}

Result<std::vector<TensorType>> inferLrn(const OperatorCall& call) {
  PIPESCOPE_TRY(lrnSetupOf(call));
  return std::vector<TensorType>{call.input(0)};
}

/// Sets to[i] to Σ from over channels [c − before, c + after] for every position i of channel c.
template <class T, class F>
void sumAround(const LrnSetup& setup, std::int64_t c, std::int64_t before, std::int64_t after, T* to,
               F from) {
  std::fill_n(to, setup.rows.inner, T(0));
  const std::int64_t end = std::min(c + after + 1, setup.rows.depth);
  for (std::int64_t other = std::max<std::int64_t>(0, c - before); other < end; ++other) {
    for (std::int64_t i = 0; i < setup.rows.inner; ++i) to[i] += from(other * setup.rows.inner + i);
  }
}

template <class T>
void normalise(const LrnSetup& setup, const T* x, T* y, T* sums) {
  const std::int64_t inner = setup.rows.inner;
  const T factor = static_cast<T>(setup.alpha / static_cast<double>(setup.size)),
          bias = static_cast<T>(setup.bias), beta = static_cast<T>(setup.beta);
  for (std::int64_t n = 0; n < setup.rows.outer; ++n, x += setup.rows.depth * inner) {
    for (std::int64_t c = 0; c < setup.rows.depth; ++c, y += inner) {
      sumAround(setup, c, setup.before, setup.after, sums, [x](std::int64_t at) { return x[at] * x[at]; });
      for (std::int64_t i = 0; i < inner; ++i)
        y[i] = x[c * inner + i] / std::pow(bias + factor * sums[i], beta);
    }
  }
}

Result<Kernel> lrnKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LrnSetup setup, lrnSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    normalise(setup, a.input<T>(0), a.output<T>(0), a.scratchAs<T>());
                    return {};
                  },
                  setup.rows.inner* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> lrnWork(const OperatorCall& call) {
  const LrnSetup setup = *lrnSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  return {{Map{MapFunction::square, all, 1, type, false}, 1, "Square"},
          {Map{MapFunction::add, all, 2, type, true}, setup.size, "Sum"},
          {Map{MapFunction::pow, all, 1, type, true}, 1, "Power"},
          {Map{MapFunction::multiply, all, 2, type, false}, 1, "Scale"}};
}

Status lrnGradient(GradientBuilder& builder) {
  return builder.addFor(0, "GradLRN", "grad_input", {builder.node().inputs[0], builder.outputGradient(0)},
                        builder.node().attributes);
}

Result<std::vector<TensorType>> inferLrnGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  return inferLrn(call);
}

/// dxᵢ = dyᵢ·sᵢ^−β − 2·αβ ÷ size · xᵢ · Σⱼ dyⱼ·xⱼ·sⱼ^−(β+1) over all j whose window holds i.
template <class T>
void lrnGradient(const LrnSetup& setup, const T* x, const T* dy, T* dx, T* scratch) {
  const std::int64_t inner = setup.rows.inner, sample = setup.rows.depth * inner;
  T *scales = scratch, *sums = scratch + sample;
  const T factor = static_cast<T>(setup.alpha / static_cast<double>(setup.size)),
          bias = static_cast<T>(setup.bias), beta = static_cast<T>(setup.beta);
  for (std::int64_t n = 0; n < setup.rows.outer; ++n, x += sample, dy += sample, dx += sample) {
    for (std::int64_t c = 0; c < setup.rows.depth; ++c) {
      sumAround(setup, c, setup.before, setup.after, sums, [x](std::int64_t at) { return x[at] * x[at]; });
      for (std::int64_t i = 0; i < inner; ++i) scales[c * inner + i] = bias + factor * sums[i];
    }
    for (std::int64_t i = 0; i < sample; ++i) {
      const T power = std::pow(scales[i], -beta);
      dx[i] = dy[i] * power;
      scales[i] = dy[i] * x[i] * power / scales[i];
    }
    for (std::int64_t c = 0; c < setup.rows.depth; ++c) {
      sumAround(setup, c, setup.after, setup.before, sums, [scales](std::int64_t at) { return scales[at]; });
      for (std::int64_t i = 0; i < inner; ++i)
        dx[c * inner + i] -= T(2) * factor * beta * x[c * inner + i] * sums[i];
    }
  }
}

Result<Kernel> lrnGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LrnSetup setup, lrnSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    lrnGradient(setup, a.input<T>(0), a.input<T>(1), a.output<T>(0), a.scratchAs<T>());
                    return {};
                  },
                  (setup.rows.depth + 1) * setup.rows.inner* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> lrnGradientWork(const OperatorCall& call) {
  std::vector<Work> work = lrnWork(call);
  const LrnSetup setup = *lrnSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t all = call.input(0).elements();
  work.push_back({Map{MapFunction::multiply, all, 2, type, true}, 2, "Product"});
  work.push_back({Map{MapFunction::add, all, 2, type, true}, setup.size, "GradSum"});
  work.push_back({Map{MapFunction::scaledAdd, all, 2, type, true}, 1, "Subtract"});
  return work;
}

const std::vector<AttributeRule>& lrnAttributes() {
  static const std::vector<AttributeRule> rules{{"alpha", AttributeKind::real},
                                                {"beta", AttributeKind::real},
                                                {"bias", AttributeKind::real},
                                                {"size", AttributeKind::integer}};
  return rules;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(lrn) {
  registry.add({.type = "LRN",
                .attributes = lrnAttributes(),
                .infer = inferLrn,
                .kernel = lrnKernel,
                .work = lrnWork,
                .gradient = lrnGradient});
  registry.add({.type = "GradLRN",
                .attributes = lrnAttributes(),
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferLrnGradient,
                .kernel = lrnGradientKernel,
                .work = lrnGradientWork});
}

}  // namespace pipescope::ops
