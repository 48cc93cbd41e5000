// Det of square matrices, by elimination with the largest pivots. GradDet: x, y, dy → dx = dy·y·x⁻ᵀ, which is
// NaN if x is singular.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"

namespace pipescope::ops {
namespace {

Result<std::vector<TensorType>> inferDet(const OperatorCall& call) {
  const Shape& x = call.input(0).shape;
  if (x.size() < 2 || x.back() != x[x.size() - 2]) {
    return base::badInput(fmt::format("{}: its input is {}; it needs square matrices", call.title(),
                                      graph::toString(call.input(0))));
  }
  return std::vector<TensorType>{{call.input(0).element, Shape(x.begin(), x.end() - 2)}};
}

/// Eliminates a (n×n, in place) downwards, and b (n×n) with it if it is not null. Returns the determinant.
template <class T>
T eliminate(T* a, T* b, std::int64_t n) {
  T det = T(1);
  for (std::int64_t c = 0; c < n; ++c) {
    std::int64_t pivot = c;
    for (std::int64_t r = c + 1; r < n; ++r) {
      if (std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c])) pivot = r;
    }
    if (pivot != c) {
      std::swap_ranges(a + c * n, a + (c + 1) * n, a + pivot * n);
      if (b) std::swap_ranges(b + c * n, b + (c + 1) * n, b + pivot * n);
      det = -det;
    }
    det *= a[c * n + c];
    if (a[c * n + c] == T(0)) return a[c * n + c];
    for (std::int64_t r = c + 1; r < n; ++r) {
      const T factor = a[r * n + c] / a[c * n + c];
      for (std::int64_t i = c; i < n; ++i) a[r * n + i] -= factor * a[c * n + i];
      for (std::int64_t i = 0; b && i < n; ++i) b[r * n + i] -= factor * b[c * n + i];
    }
  }
  return det;
}

Result<Kernel> detKernel(const OperatorCall& call) {
  const std::int64_t n = call.input(0).shape.back(), matrices = call.outputs[0].elements();
  return kernelForFloats(call, call.input(0).element, [=]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    T* copy = a.scratchAs<T>();
                    for (std::int64_t i = 0; i < matrices; ++i) {
                      std::copy_n(a.input<T>(0) + i * n * n, n * n, copy);
                      a.output<T>(0)[i] = eliminate<T>(copy, nullptr, n);
                    }
                    return {};
                  },
                  n* n* static_cast<std::int64_t>(sizeof(T))};
  });
}

/// The row of a pivot is scaled and subtracted from those below: n³ ÷ 3 multiply-adds in n passes.
std::vector<Work> detWork(const OperatorCall& call) {
  const std::int64_t n = call.input(0).shape.back(), all = call.input(0).elements();
  if (n == 0) return {};
  return {{Map{MapFunction::scaledAdd, std::max<std::int64_t>(1, all / 3), 2, call.input(0).element, true}, n,
           "Eliminate"},
          {Reduce{ReduceFunction::product, all / (n * n), n, false, call.input(0).element}, 1, "Product"}};
}

Status detGradient(GradientBuilder& builder) {
  return builder.addFor(0, "GradDet", "grad_input",
                        {builder.node().inputs[0], builder.node().outputs[0], builder.outputGradient(0)}, {});
}

Result<std::vector<TensorType>> inferDetGradient(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const std::vector<TensorType> own, inferDet(call));
  PIPESCOPE_TRY(requireSameTypes(call, 1, 2));
  if (call.input(1) == own[0]) return std::vector<TensorType>{call.input(0)};
  return base::badInput(fmt::format("{}: the determinants are {}; they must be {}", call.title(),
                                    graph::toString(call.input(1)), graph::toString(own[0])));
}

/// to = factor · (x⁻¹)ᵀ.
template <class T>
void transposedInverse(const T* x, T factor, T* to, T* scratch, std::int64_t n) {
  T *a = scratch, *b = scratch + n * n;
  std::copy_n(x, n * n, a);
  std::fill_n(b, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) b[i * n + i] = T(1);
  eliminate(a, b, n);
  for (std::int64_t r = n; r-- > 0;) {
    for (std::int64_t i = 0; i < n; ++i) {
      T value = b[r * n + i];
      for (std::int64_t c = r + 1; c < n; ++c) value -= a[r * n + c] * b[c * n + i];
      b[r * n + i] = value / a[r * n + r];
    }
  }
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c < n; ++c) to[c * n + r] = factor * b[r * n + c];
  }
}

Result<Kernel> gradientKernel(const OperatorCall& call) {
  const std::int64_t n = call.input(0).shape.back(), matrices = call.input(1).elements();
  return kernelForFloats(call, call.input(0).element, [=]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    for (std::int64_t i = 0; i < matrices; ++i) {
                      transposedInverse(a.input<T>(0) + i * n * n, a.input<T>(1)[i] * a.input<T>(2)[i],
                                        a.output<T>(0) + i * n * n, a.scratchAs<T>(), n);
                    }
                    return {};
                  },
                  2 * n* n* static_cast<std::int64_t>(sizeof(T))};
  });
}

std::vector<Work> detGradientWork(const OperatorCall& call) {
  const std::int64_t n = call.input(0).shape.back(), all = call.input(0).elements();
  return {{Map{MapFunction::scaledAdd, all, 2, call.input(0).element, true}, 2 * n, "Solve"},
          {Map{MapFunction::multiply, all, 2, call.input(0).element, true}, 1, "Scale"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(det) {
  registry.add(
      {.type = "Det", .infer = inferDet, .kernel = detKernel, .work = detWork, .gradient = detGradient});
  registry.add({.type = "GradDet",
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferDetGradient,
                .kernel = gradientKernel,
                .work = detGradientWork});
}

}  // namespace pipescope::ops
