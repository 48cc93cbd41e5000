// LpNormalization: x ÷ ‖x‖ₚ along one axis, with p = 1 or 2; GradLpNormalization: x, dy → dx. A row of zeros
// gives NaN.
#include <fmt/format.h>

#include <cmath>

#include "engine/ops/core/axis_rows.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {
namespace {

struct LpSetup {
  Rows rows;
  bool squares = true;
};

Result<LpSetup> lpNormSetupOf(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::size_t axis, axisAttribute(call, -1, call.input(0).shape.size()));
  const std::int64_t p = graph::intAttribute(call.node, "p", 2);
  if (p != 1 && p != 2) return base::badInput(fmt::format("{}: p is {}; it must be 1 or 2", call.title(), p));
  return LpSetup{Rows::around(call.input(0).shape, axis, axis + 1), p == 2};
}

Result<std::vector<TensorType>> inferLpNorm(const OperatorCall& call) {
  PIPESCOPE_TRY(lpNormSetupOf(call));
  return std::vector<TensorType>{call.input(0)};
}

template <class T>
T lengthOf(const LpSetup& setup, const T* x) {
  const std::int64_t step = setup.rows.inner;
  if (!setup.squares)
    return laneSum<T>(setup.rows.depth, [=](std::int64_t i) { return std::fabs(x[i * step]); });
  return std::sqrt(laneSum<T>(setup.rows.depth, [=](std::int64_t i) { return x[i * step] * x[i * step]; }));
}

/// Calls body(offset of a row's first element) for every row.
template <class Body>
void forRows(const Rows& rows, Body body) {
  for (std::int64_t row = 0; row < rows.outer * rows.inner; ++row)
    body(row / rows.inner * rows.depth * rows.inner + row % rows.inner);
}

Result<Kernel> lpNormKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LpSetup setup, lpNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    forRows(setup.rows, [&](std::int64_t first) {
                      const T* x = a.input<T>(0) + first;
                      T* y = a.output<T>(0) + first;
                      const T length = lengthOf(setup, x);
                      for (std::int64_t i = 0; i < setup.rows.depth; ++i)
                        y[i * setup.rows.inner] = x[i * setup.rows.inner] / length;
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> lpNormWork(const OperatorCall& call) {
  const LpSetup setup = *lpNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t rows = setup.rows.outer * setup.rows.inner;
  std::vector<Work> work{{Reduce{setup.squares ? ReduceFunction::squareSum : ReduceFunction::absSum, rows,
                                 setup.rows.depth, setup.rows.inner == 1, type},
                          1, "Length"}};
  if (setup.squares) work.push_back({Map{MapFunction::sqrt, rows, 1, type, true}, 1, "Sqrt"});
  work.push_back({Map{MapFunction::divide, call.input(0).elements(), 2, type, true, setup.rows.inner == 1}, 1,
                  "Normalise"});
  return work;
}

Status lpNormGradient(GradientBuilder& builder) {
  return builder.addFor(0, "GradLpNormalization", "grad_input",
                        {builder.node().inputs[0], builder.outputGradient(0)}, builder.node().attributes);
}

Result<std::vector<TensorType>> inferLpNormGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  return inferLpNorm(call);
}

/// dx = (dy − l'(x)·Σ dy·y) ÷ l, where l' is x ÷ l or the sign of x.
template <class T>
void lpNormGradientRow(const LpSetup& setup, const T* x, const T* dy, T* dx) {
  const std::int64_t step = setup.rows.inner;
  const T length = lengthOf(setup, x);
  const T product =
      laneSum<T>(setup.rows.depth, [=](std::int64_t i) { return dy[i * step] * x[i * step]; }) / length;
  for (std::int64_t i = 0; i < setup.rows.depth; ++i) {
    const T value = x[i * step];
    const T slope = setup.squares ? value / length : value > T(0) ? T(1) : value < T(0) ? T(-1) : T(0);
    dx[i * step] = (dy[i * step] - slope * product) / length;
  }
}

Result<Kernel> lpNormGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const LpSetup setup, lpNormSetupOf(call));
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    forRows(setup.rows, [&](std::int64_t first) {
                      lpNormGradientRow(setup, a.input<T>(0) + first, a.input<T>(1) + first,
                                        a.output<T>(0) + first);
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> lpNormGradientWork(const OperatorCall& call) {
  const LpSetup setup = *lpNormSetupOf(call);
  const ElementType type = call.input(0).element;
  const std::int64_t rows = setup.rows.outer * setup.rows.inner, all = call.input(0).elements();
  return {{Map{MapFunction::multiply, all, 2, type, false}, 1, "Product"},
          {Reduce{ReduceFunction::sum, rows, setup.rows.depth, setup.rows.inner == 1, type}, 1, "Sum"},
          {Map{MapFunction::scaledAdd, all, 2, type, false}, 1, "Subtract"},
          {Map{MapFunction::divide, all, 2, type, true, setup.rows.inner == 1}, 1, "Normalise"}};
}

const std::vector<AttributeRule>& lpNormAttributes() {
  static const std::vector<AttributeRule> rules{{"axis", AttributeKind::integer},
                                                {"p", AttributeKind::integer}};
  return rules;
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(lp_normalization) {
  registry.add({.type = "LpNormalization",
                .attributes = lpNormAttributes(),
                .infer = inferLpNorm,
                .kernel = lpNormKernel,
                .work = lpNormWork,
                .gradient = lpNormGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradLpNormalization",
                .attributes = lpNormAttributes(),
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferLpNormGradient,
                .kernel = lpNormGradientKernel,
                .work = lpNormGradientWork});
}

}  // namespace pipescope::ops
