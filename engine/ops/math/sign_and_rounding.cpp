// Abs, Neg and Sign for all (signed) numbers; Floor, Ceil and Round (to nearest, ties to even) for
// floating-point numbers. The gradients of Sign, Floor, Ceil and Round are zero.
#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/math/unary.h"

namespace pipescope::ops {
namespace {

struct Absolute {
  static constexpr const char* kType = "Abs";
  static constexpr MapFunction kWork = MapFunction::abs;
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    return std::is_signed_v<T> && x < T(0) ? static_cast<T>(-static_cast<std::uint64_t>(x)) : x;
  }
};
struct Negative {
  static constexpr const char* kType = "Neg";
  static constexpr MapFunction kWork = MapFunction::negate;
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return -x;
    return static_cast<T>(-static_cast<std::uint64_t>(x));
  }
};
struct SignOf {
  static constexpr const char* kType = "Sign";
  static constexpr MapFunction kWork = MapFunction::sign;
  template <class T>
  static T apply(T x) {
    if (x > T(0)) return T(1);
    if constexpr (std::is_signed_v<T>) return x < T(0) ? T(-1) : x;  // NaN stays
    return x;
  }
};

/// Adding and subtracting 2ᵖ⁻¹ rounds to nearest, ties to even, whatever the processor's rounding flags are.
template <class T>
T rounded(T x) {
  constexpr T kWhole = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  const T a = std::fabs(x);
  const T near = (a + kWhole) - kWhole;
  return std::copysign(a < kWhole ? near : a, x);
}

template <class Op>
Result<Kernel> signedKernel(const OperatorCall& call) {
  const std::int64_t count = call.input(0).elements();
  return kernelForNumbers(call, call.input(0).element, [=]<class T>(T) {
    return Kernel{[=](const KernelArguments& a) -> Status {
                    mapOne(a.input<T>(0), a.output<T>(0), count,
                           [](T x) { return Op::template apply<T>(x); });
                    return {};
                  },
                  0};
  });
}

template <class Op>
std::vector<Work> signedWork(const OperatorCall& call) {
  return {{Map{Op::kWork, call.input(0).elements(), 1, call.input(0).element, true}, 1, ""}};
}

/// ONNX does not negate unsigned numbers.
Result<std::vector<TensorType>> inferNegative(const OperatorCall& call) {
  using enum ElementType;
  const ElementType type = call.input(0).element;
  if (type == uint8 || type == uint16 || type == uint32 || type == uint64) {
    return base::badInput(fmt::format("{}: its input is {}; numbers without a sign have no negative",
                                      call.title(), graph::toString(type)));
  }
  return inferUnary(call);
}

/// dx = dy · sign x.
Status absGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const graph::TensorId sign, builder.add("Sign", "sign", {builder.node().inputs[0]}, {}));
  return builder.addFor(0, "Mul", "grad_input", {builder.outputGradient(0), sign}, {});
}
Status negGradient(GradientBuilder& builder) {
  return builder.addFor(0, "Neg", "grad_input", {builder.outputGradient(0)}, {});
}
Status signGradient(GradientBuilder& builder) {
  return builder.addFor(0, "GradFloor", "grad_input", {builder.node().inputs[0], builder.outputGradient(0)},
                        {});
}

template <class Op>
void addSigned(OperatorRegistry& registry, Status (*gradient)(GradientBuilder&),
               Result<std::vector<TensorType>> (*infer)(const OperatorCall&) = inferUnary) {
  registry.add({.type = Op::kType,
                .infer = infer,
                .kernel = signedKernel<Op>,
                .work = signedWork<Op>,
                .gradient = gradient,
                .inPlaceInput = 0});
}

PIPESCOPE_UNARY(Floor, floor, std::floor(x), input, T(0), fill)
PIPESCOPE_UNARY(Ceil, ceil, std::ceil(x), input, T(0), fill)
PIPESCOPE_UNARY(Round, round, rounded(x), input, T(0), fill)

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(sign_and_rounding) {
  addSigned<Absolute>(registry, absGradient);
  addSigned<Negative>(registry, negGradient, inferNegative);
  addSigned<SignOf>(registry, signGradient);
  addUnary<Floor>(registry);
  addUnary<Ceil>(registry);
  addUnary<Round>(registry);
}

}  // namespace pipescope::ops
