// Pow with broadcasting. The result has the type of the base; the exponent may have any number type.
// GradPowBase and GradPowExponent take base, exponent and dy, and give the gradient before the broadcast is
// undone.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/cast_elements.h"
#include "engine/ops/core/dispatch.h"

namespace pipescope::ops {
namespace {

using base::badInput;

Result<std::vector<TensorType>> inferPow(const OperatorCall& call) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (call.has(i) && call.input(i).element == ElementType::boolean)
      return unsupportedType(call, ElementType::boolean, "numbers");
  }
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  return std::vector<TensorType>{{call.input(0).element, shape}};
}

/// Computes modulo 2ⁿ. Negative exponents round towards zero, as a quotient does.
template <class T>
T wholePower(T base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == T(1)) return T(1);
    if (std::is_signed_v<T> && base == static_cast<T>(-1)) return exponent % 2 ? static_cast<T>(-1) : T(1);
    return T(0);
  }
  std::uint64_t result = 1, square = static_cast<std::uint64_t>(base);
  for (auto rest = static_cast<std::uint64_t>(exponent); rest > 0; rest /= 2, square *= square) {
    if (rest % 2) result *= square;
  }
  return static_cast<T>(result);
}

/// A real power of a whole number, cut to the type as a cast does.
template <class T>
T cutPower(T base, double exponent) {
  const double power = std::pow(static_cast<double>(base), exponent);
  T result{};
  castElements(ElementType::float64, reinterpret_cast<const std::byte*>(&power),
               std::is_same_v<T, std::int32_t> ? ElementType::int32 : ElementType::int64,
               reinterpret_cast<std::byte*>(&result), 1);
  return result;
}

/// y = a^b for one exponent. Small whole exponents and the square root avoid the general function.
template <class T>
void powerByScalar(const T* a, T exponent, T* y, std::int64_t count) {
  if (exponent == T(2)) return mapOne(a, y, count, [](T x) { return x * x; });
  if (exponent == T(3)) return mapOne(a, y, count, [](T x) { return x * x * x; });
  if (exponent == T(0.5)) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    return mapOne(a, y, count, [](T x) { return x == -kInfinity ? kInfinity : std::sqrt(x + T(0)); });
  }
  if (exponent == T(1)) return mapOne(a, y, count, [](T x) { return x; });
  if (exponent == T(-1)) return mapOne(a, y, count, [](T x) { return T(1) / x; });
  mapOne(a, y, count, [exponent](T x) { return std::pow(x, exponent); });
}

/// Computes powers of a real base for exponents of the same type.
template <class T>
void realPower(const Broadcast& setup, const T* a, const T* b, T* y) {
  if (setup.step(0) == 0 || setup.step(1) != 0)
    return mapTwo(setup, a, b, y, [](T base, T exponent) { return std::pow(base, exponent); });
  setup.forRuns([&](std::int64_t first, const auto& place) {
    powerByScalar(a + place[0], b[place[1]], y + first, setup.run());
  });
}

/// Converts the exponents to E in scratch.
template <class E>
const E* exponentsAs(const KernelArguments& a, ElementType from, ElementType to, std::int64_t count) {
  if (from == to) return a.input<E>(1);
  castElements(from, a.inputs[1].data(), to, a.scratch.data(), count);
  return a.scratchAs<E>();
}

template <class T>
Kernel powKernelOf(const Broadcast& setup, ElementType exponentType, std::int64_t exponents) {
  const std::int64_t scratch = exponents * 8;
  if constexpr (std::is_floating_point_v<T>) {
    const ElementType own = sizeof(T) == 4 ? ElementType::float32 : ElementType::float64;
    return {[=](const KernelArguments& a) -> Status {
              realPower(setup, a.input<T>(0), exponentsAs<T>(a, exponentType, own, exponents),
                        a.output<T>(0));
              return {};
            },
            scratch};
  } else {
    if (isFloat(exponentType)) {
      return {[=](const KernelArguments& a) -> Status {
                mapTwo(setup, a.input<T>(0),
                       exponentsAs<double>(a, exponentType, ElementType::float64, exponents), a.output<T>(0),
                       [](T base, double exponent) { return cutPower(base, exponent); });
                return {};
              },
              scratch};
    }
    return {[=](const KernelArguments& a) -> Status {
              mapTwo(setup, a.input<T>(0),
                     exponentsAs<std::int64_t>(a, exponentType, ElementType::int64, exponents),
                     a.output<T>(0),
                     [](T base, std::int64_t exponent) { return wholePower(base, exponent); });
              return {};
            },
            scratch};
  }
}

Result<Kernel> powKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  const Broadcast setup(shape, {call.input(0).shape, call.input(1).shape});
  const ElementType own = call.input(0).element;
  // Exponents of the same type as a half-precision base arrive as float32.
  ElementType exponent = call.input(1).element;
  if (exponent == own && (own == ElementType::float16 || own == ElementType::bfloat16))
    exponent = ElementType::float32;
  const std::int64_t count = call.input(1).elements();
  if (own == ElementType::int32) return powKernelOf<std::int32_t>(setup, exponent, count);
  if (own == ElementType::int64) return powKernelOf<std::int64_t>(setup, exponent, count);
  if (!isFloat(own)) return unsupportedType(call, own, "int32, int64 and floating-point types");
  return kernelForFloats(call, own, [&]<class T>(T) { return powKernelOf<T>(setup, exponent, count); });
}

std::vector<Work> powWork(const OperatorCall& call) {
  const std::int64_t elements = call.outputs.empty() ? 0 : call.outputs[0].elements();
  return {{Map{MapFunction::pow, elements, 2, call.input(0).element, false}, 1, ""}};
}

Status powGradient(GradientBuilder& builder) {
  const OperatorCall& call = builder.call();
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  const char* operators[] = {"GradPowBase", "GradPowExponent"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!builder.wants(i)) continue;
    if (call.input(0).element != call.input(1).element) {
      return badInput(fmt::format("{}: cannot train through a power of {} by {}; cast one of them",
                                  call.title(), graph::toString(call.input(0).element),
                                  graph::toString(call.input(1).element)));
    }
    PIPESCOPE_ASSIGN(
        const graph::TensorId gradient,
        builder.add(operators[i], fmt::format("grad_{}", i),
                    {builder.node().inputs[0], builder.node().inputs[1], builder.outputGradient(0)}, {}));
    PIPESCOPE_TRY(addBroadcastGradient(builder, i, gradient, shape));
  }
  return {};
}

Result<std::vector<TensorType>> inferPowGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameElementTypes(call, {0, 1, 2}));
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  return std::vector<TensorType>{{call.input(2).element, shape}};
}

template <bool kBase>
Result<Kernel> powGradientKernel(const OperatorCall& call) {
  PIPESCOPE_ASSIGN(const Shape shape, broadcastInputs(call));
  const Broadcast setup(shape, {call.input(0).shape, call.input(1).shape, call.input(2).shape});
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    return Kernel{[setup](const KernelArguments& a) -> Status {
                    mapThree(setup, a.input<T>(0), a.input<T>(1), a.input<T>(2), a.output<T>(0),
                             [](T base, T exponent, T dy) {
                               if (kBase) {
                                 if (exponent == T(2)) return dy * T(2) * base;
                                 return exponent == T(0) ? T(0)
                                                         : dy * exponent * std::pow(base, exponent - T(1));
                               }
                               // 0^b has no slope for b > 0, as in PyTorch.
                               if (base == T(0) && exponent >= T(0)) return T(0);
                               return dy * std::pow(base, exponent) * std::log(base);
                             });
                    return {};
                  },
                  0};
  });
}

std::vector<Work> powGradientWork(const OperatorCall& call) {
  const std::int64_t elements = call.input(2).elements();
  return {{Map{MapFunction::pow, elements, 2, call.input(0).element, false}, 1, "Power"},
          {Map{MapFunction::multiply, elements, 2, call.input(0).element, true}, 2, "Scale"}};
}

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(pow) {
  registry.add({.type = "Pow",
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferPow,
                .kernel = powKernel,
                .work = powWork,
                .gradient = powGradient});
  registry.add({.type = "GradPowBase",
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferPowGradient,
                .kernel = powGradientKernel<true>,
                .work = powGradientWork});
  registry.add({.type = "GradPowExponent",
                .minInputs = 3,
                .maxInputs = 3,
                .infer = inferPowGradient,
                .kernel = powGradientKernel<false>,
                .work = powGradientWork});
}

}  // namespace pipescope::ops
