#pragma once
// Defines an elementwise operator of one tensor in one line. The line states, in this order:
//   - the operator's type,
//   - the MapFunction that describes its cost in Work,
//   - the function of x,
//   - the tensor that the gradient needs: the input x or the output y. The next expression calls it r,
//   - the gradient as an expression of r and dy,
//   - the MapFunction that describes the gradient's cost,
//   - up to three attributes with their defaults. The expressions call them p.a, p.b and p.c.
//
//   PIPESCOPE_UNARY(Exp, exp, lanes::exp(x), output, dy * r, multiply)
//   PIPESCOPE_UNARY(Elu, elu, …, input, …, eluGradient, {"alpha", 1.0})
//
// The first example defines the operators Exp and GradExp (r, dy → dx). addUnary<Exp>(registry) registers
// both.
#include <array>
#include <string>
#include <vector>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/dispatch.h"
#include "engine/ops/core/lane_math.h"

namespace pipescope::ops {

struct UnaryAttribute {
  const char* name;
  double fallback;
};

template <class T>
struct UnaryParameters {
  T a{}, b{}, c{};
};

enum class UnaryReference { input, output };

template <class Op, class T>
UnaryParameters<T> unaryParameters(const Node& node) {
  const std::vector<UnaryAttribute>& known = Op::attributes();
  const auto read = [&](std::size_t i) {
    return i < known.size() ? static_cast<T>(graph::floatAttribute(node, known[i].name, known[i].fallback))
                            : T(0);
  };
  return {read(0), read(1), read(2)};
}

template <class Op>
Result<std::vector<TensorType>> inferUnary(const OperatorCall& call) {
  return std::vector<TensorType>{call.input(0)};
}

template <class Op>
Result<Kernel> unaryKernel(const OperatorCall& call) {
  const std::int64_t count = call.input(0).elements();
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    const UnaryParameters<T> p = unaryParameters<Op, T>(call.node);
    return Kernel{[count, p](const KernelArguments& a) -> Status {
                    forRanges(a, count, [&](std::int64_t first, std::int64_t end) {
                      mapOne(a.input<T>(0) + first, a.output<T>(0) + first, end - first,
                             [p](T x) { return Op::value(x, p); });
                    });
                    return {};
                  },
                  0};
  });
}

template <class Op>
std::vector<Work> unaryWork(const OperatorCall& call) {
  return {{Map{Op::kWork, call.input(0).elements(), 1, call.input(0).element, true}, 1, ""}};
}

template <class Op>
Status unaryGradient(GradientBuilder& builder) {
  const Node& node = builder.node();
  const graph::TensorId r = Op::kReference == UnaryReference::input ? node.inputs[0] : node.outputs[0];
  return builder.addFor(0, std::string("Grad") + Op::kType, "grad_input", {r, builder.outputGradient(0)},
                        node.attributes);
}

template <class Op>
Result<std::vector<TensorType>> inferUnaryGradient(const OperatorCall& call) {
  PIPESCOPE_TRY(requireSameTypes(call, 0, 1));
  return std::vector<TensorType>{call.input(1)};
}

template <class Op>
Result<Kernel> unaryGradientKernel(const OperatorCall& call) {
  const std::int64_t count = call.input(0).elements();
  return kernelForFloats(call, call.input(0).element, [&]<class T>(T) {
    const UnaryParameters<T> p = unaryParameters<Op, T>(call.node);
    return Kernel{[count, p](const KernelArguments& a) -> Status {
                    forRanges(a, count, [&](std::int64_t first, std::int64_t end) {
                      mapPairs(a.input<T>(0) + first, a.input<T>(1) + first, a.output<T>(0) + first,
                               end - first, [p](T r, T dy) { return Op::slope(r, dy, p); });
                    });
                    return {};
                  },
                  0};
  });
}

template <class Op>
std::vector<Work> unaryGradientWork(const OperatorCall& call) {
  return {{Map{Op::kGradientWork, call.input(0).elements(), 2, call.input(0).element, true}, 1, ""}};
}

template <class Op>
void addUnary(OperatorRegistry& registry) {
  std::vector<AttributeRule> attributes;
  for (const UnaryAttribute& each : Op::attributes()) attributes.push_back({each.name, AttributeKind::real});
  registry.add({.type = Op::kType,
                .attributes = attributes,
                .infer = inferUnary<Op>,
                .kernel = unaryKernel<Op>,
                .work = unaryWork<Op>,
                .gradient = unaryGradient<Op>,
                .inPlaceInput = 0});
  registry.add({.type = std::string("Grad") + Op::kType,
                .attributes = attributes,
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferUnaryGradient<Op>,
                .kernel = unaryGradientKernel<Op>,
                .work = unaryGradientWork<Op>,
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops

#define PIPESCOPE_UNARY(type, work, valueOf, reference, gradientOf, gradientWork, ...)                 \
  struct type {                                                                                        \
    static constexpr const char* kType = #type;                                                        \
    static constexpr MapFunction kWork = MapFunction::work, kGradientWork = MapFunction::gradientWork; \
    static constexpr UnaryReference kReference = UnaryReference::reference;                            \
    static const std::vector<UnaryAttribute>& attributes() {                                           \
      static const std::vector<UnaryAttribute> all{__VA_ARGS__};                                       \
      return all;                                                                                      \
    }                                                                                                  \
    template <class T>                                                                                 \
    static T value(T x, [[maybe_unused]] const UnaryParameters<T>& p) {                                \
      return valueOf;                                                                                  \
    }                                                                                                  \
    template <class T>                                                                                 \
    static T slope([[maybe_unused]] T r, [[maybe_unused]] T dy,                                        \
                   [[maybe_unused]] const UnaryParameters<T>& p) {                                     \
      return gradientOf;                                                                               \
    }                                                                                                  \
  };
