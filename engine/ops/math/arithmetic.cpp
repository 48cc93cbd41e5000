// Add, Sub, Mul, Div with numpy's broadcasting. Integers wrap; a quotient of integers is rounded towards
// zero, and division by zero is refused.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

/// Whole-number arithmetic modulo 2⁶⁴, cut to T, so that no overflow is undefined.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;

struct Plus {
  static constexpr MapFunction kWork = MapFunction::add;
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
  }
};
struct Minus {
  static constexpr MapFunction kWork = MapFunction::subtract;
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
  }
};
struct Times {
  static constexpr MapFunction kWork = MapFunction::multiply;
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
  }
};
struct Over {
  static constexpr MapFunction kWork = MapFunction::divide;
  template <class T>
  static T apply(T a, T b) {
    // The smallest number divided by −1 wraps to itself.
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      if (b == T(-1)) return static_cast<T>(-static_cast<std::uint64_t>(a));
    }
    return static_cast<T>(a / b);
  }
};

Result<std::vector<TensorType>> inferArithmetic(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1}));
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

struct ArithmeticSetup {
  Broadcast spread;
  std::int64_t divisors;
  std::string title;
};

template <class Op, class T>
Status runArithmetic(const KernelArguments& a, const ArithmeticSetup& setup) {
  const T* b = a.input<T>(1);
  if constexpr (std::is_same_v<Op, Over> && std::is_integral_v<T>) {
    if (std::find(b, b + setup.divisors, T(0)) != b + setup.divisors)
      return base::badInput(fmt::format("{}: a whole number is divided by zero", setup.title));
  }
  mapTwo(a, setup.spread, a.input<T>(0), b, a.output<T>(0),
         [](T x, T y) { return Op::template apply<T>(x, y); });
  return {};
}

template <class Op>
Result<Kernel> arithmeticKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  const ArithmeticSetup setup{Broadcast(shape, {call.input(0).shape, call.input(1).shape}),
                              call.input(1).elements(), call.title()};
  const auto make = [&]<class T>(T) { return kernelOf(setup, runArithmetic<Op, T>); };
  // Modulo 2ⁿ, signed and unsigned numbers share the code of everything but quotients.
  if constexpr (!std::is_same_v<Op, Over>) {
    if (isInteger(call.input(0).element)) return kernelForSizes(call.input(0).element, make);
  }
  return kernelForNumbers(call, call.input(0).element, make);
}

template <class Op>
std::vector<Work> arithmeticWork(const OperatorCall& call) {
  const std::int64_t elements = call.outputs.empty() ? 0 : call.outputs[0].elements();
  Map map{Op::kWork, elements, 2, call.input(0).element, call.input(0).elements() == elements};
  const Shape& second = call.input(1).shape;
  map.perRow = (second.empty() || second.back() == 1) && !call.outputs.empty() &&
               !call.outputs[0].shape.empty() && call.outputs[0].shape.back() > 1;
  return {{map, 1, ""}};
}

Result<Shape> resultShape(GradientBuilder& builder) {
  return broadcastInputs(builder.call());
}

Status addGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const Shape shape, resultShape(builder));
  for (std::size_t i = 0; i < 2; ++i) {
    if (builder.wants(i)) PIPESCOPE_TRY(addBroadcastGradient(builder, i, builder.outputGradient(0), shape));
  }
  return {};
}

Status subtractGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const Shape shape, resultShape(builder));
  const graph::TensorId dy = builder.outputGradient(0);
  if (builder.wants(0)) PIPESCOPE_TRY(addBroadcastGradient(builder, 0, dy, shape));
  if (!builder.wants(1)) return {};
  PIPESCOPE_ASSIGN(const graph::TensorId minus, builder.add("Neg", "grad_1", {dy}, {}));
  return addBroadcastGradient(builder, 1, minus, shape);
}

Status multiplyGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const Shape shape, resultShape(builder));
  for (std::size_t i = 0; i < 2; ++i) {
    if (!builder.wants(i)) continue;
    PIPESCOPE_ASSIGN(const graph::TensorId product,
                     builder.add("Mul", fmt::format("grad_{}", i),
                                 {builder.outputGradient(0), builder.node().inputs[1 - i]}, {}));
    PIPESCOPE_TRY(addBroadcastGradient(builder, i, product, shape));
  }
  return {};
}

/// The gradient by the dividend is dy ÷ b, and by the divisor −(dy ÷ b)·y.
Status divideGradient(GradientBuilder& builder) {
  PIPESCOPE_ASSIGN(const Shape shape, resultShape(builder));
  const Node& node = builder.node();
  PIPESCOPE_ASSIGN(const graph::TensorId quotient,
                   builder.add("Div", "grad_0", {builder.outputGradient(0), node.inputs[1]}, {}));
  if (builder.wants(0)) PIPESCOPE_TRY(addBroadcastGradient(builder, 0, quotient, shape));
  if (!builder.wants(1)) return {};
  PIPESCOPE_ASSIGN(const graph::TensorId product,
                   builder.add("Mul", "grad_1_product", {quotient, node.outputs[0]}, {}));
  PIPESCOPE_ASSIGN(const graph::TensorId minus, builder.add("Neg", "grad_1", {product}, {}));
  return addBroadcastGradient(builder, 1, minus, shape);
}

template <class Op>
void addArithmetic(OperatorRegistry& registry, const char* type, Status (*gradient)(GradientBuilder&)) {
  registry.add({.type = type,
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferArithmetic,
                .kernel = arithmeticKernel<Op>,
                .work = arithmeticWork<Op>,
                .gradient = gradient,
                .inPlaceInput = 0});
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(arithmetic) {
  addArithmetic<Plus>(registry, "Add", addGradient);
  addArithmetic<Minus>(registry, "Sub", subtractGradient);
  addArithmetic<Times>(registry, "Mul", multiplyGradient);
  addArithmetic<Over>(registry, "Div", divideGradient);
}

}  // namespace pipescope::ops
