// Gelu as ONNX defines it from opset 20: x·Φ(x), or with approximate = "tanh" the approximation by a
// hyperbolic tangent (Hendrycks, Gimpel: "Gaussian error linear units", 2016); and GradGelu (x, dy → dx).
#include <fmt/format.h>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/gradient_builder.h"
#include "engine/ops/core/lane_math.h"
#include "engine/ops/core/ranges.h"

namespace pipescope::ops {
namespace {

template <class T>
constexpr T kSqrtHalf = T(0.70710678118654752440);
template <class T>
constexpr T kDensity = T(0.39894228040143267794);  // 1 ÷ √(2π)
template <class T>
constexpr T kRate = T(0.79788456080286535588);  // √(2 ÷ π)
template <class T>
constexpr T kCubic = T(0.044715);

template <class T>
T gelu(T x) {
  return T(0.5) * x * (T(1) + lanes::quickErf(x * kSqrtHalf<T>));
}
template <class T>
T geluSlope(T x) {
  return T(0.5) * (T(1) + lanes::quickErf(x * kSqrtHalf<T>)) + x * kDensity<T> * lanes::exp(T(-0.5) * x * x);
}
template <class T>
T tanhGelu(T x) {
  return T(0.5) * x * (T(1) + lanes::tanh(kRate<T> * (x + kCubic<T> * x * x * x)));
}
template <class T>
T tanhGeluSlope(T x) {
  const T t = lanes::tanh(kRate<T> * (x + kCubic<T> * x * x * x));
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * kRate<T> * (T(1) + T(3) * kCubic<T> * x * x);
}

Result<bool> approximates(const OperatorCall& call) {
  const std::string kind = graph::stringAttribute(call.node, "approximate", "none");
  if (kind == "none" || kind == "tanh") return kind == "tanh";
  return base::badInput(fmt::format("{}: approximate is {}; it must be none or tanh", call.title(), kind));
}

Result<std::vector<TensorType>> inferGelu(const OperatorCall& call) {
  PIPESCOPE_TRY(approximates(call));
  return std::vector<TensorType>{call.input(0)};
}

Result<Kernel> geluKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const bool byTanh, approximates(call));
  const std::int64_t count = call.input(0).elements();
  return kernelForFloats(call, call.input(0).element, [=]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    forRanges(a, count, [&](std::int64_t first, std::int64_t end) {
                      const T* x = a.input<T>(0) + first;
                      T* y = a.output<T>(0) + first;
                      if (byTanh) {
                        mapOne(x, y, end - first, [](T at) { return tanhGelu(at); });
                      } else {
                        mapOne(x, y, end - first, [](T at) { return gelu(at); });
                      }
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> geluWork(const OperatorCall& call) {
  return {{Map{MapFunction::gelu, call.input(0).elements(), 1, call.input(0).element, true}, 1, ""}};
}

Status geluGradient(GradientBuilder& builder) {
  return builder.addFor(0, "GradGelu", "grad_input", {builder.node().inputs[0], builder.outputGradient(0)},
                        builder.node().attributes);
}

Result<std::vector<TensorType>> inferGradGelu(const OperatorCall& call) {
  PIPESCOPE_TRY(approximates(call));
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  return std::vector<TensorType>{call.input(1)};
}

Result<Kernel> gradGeluKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const bool byTanh, approximates(call));
  const std::int64_t count = call.input(0).elements();
  return kernelForFloats(call, call.input(0).element, [=]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    forRanges(a, count, [&](std::int64_t first, std::int64_t end) {
                      const T *x = a.input<T>(0) + first, *dy = a.input<T>(1) + first;
                      T* dx = a.output<T>(0) + first;
                      if (byTanh) {
                        mapPairs(x, dy, dx, end - first, [](T at, T d) { return d * tanhGeluSlope(at); });
                      } else {
                        mapPairs(x, dy, dx, end - first, [](T at, T d) { return d * geluSlope(at); });
                      }
                    });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> gradGeluWork(const OperatorCall& call) {
  return {{Map{MapFunction::geluGradient, call.input(0).elements(), 2, call.input(0).element, true}, 1, ""}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(gelu) {
  registry.add({.type = "Gelu",
                .attributes = {{"approximate", AttributeKind::text}},
                .infer = inferGelu,
                .kernel = geluKernel,
                .work = geluWork,
                .gradient = geluGradient,
                .inPlaceInput = 0});
  registry.add({.type = "GradGelu",
                .attributes = {{"approximate", AttributeKind::text}},
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferGradGelu,
                .kernel = gradGeluKernel,
                .work = gradGeluWork,
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops
