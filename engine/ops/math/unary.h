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
// both. Only the loops are compiled for each operator; everything else stands once in unary.cpp.
#include <array>

#include "engine/ops/core/broadcast.h"
#include "engine/ops/core/lane_math.h"

namespace pipescope::ops {

struct UnaryAttribute {
  const char* name = nullptr;  ///< null: there is no such attribute
  double fallback = 0;
};

template <class T>
struct UnaryParameters {
  T a{}, b{}, c{};
};

enum class UnaryReference { input, output };

template <class T>
struct UnaryLoops {
  using Parameters = UnaryParameters<T>;
  /// y = f(x) for `count` elements; y may be x.
  void (*value)(const T* x, T* y, std::int64_t count, const Parameters& parameters) = nullptr;
  /// dx = f'(r, dy) for `count` elements; dx may be r or dy.
  void (*slope)(const T* r, const T* dy, T* dx, std::int64_t count, const Parameters& parameters) = nullptr;
};

struct UnaryDefinition {
  const char* type = nullptr;
  MapFunction work = MapFunction::copy, gradientWork = MapFunction::copy;
  UnaryReference reference = UnaryReference::input;
  std::array<UnaryAttribute, 3> attributes;
  UnaryLoops<float> ofFloats;
  UnaryLoops<double> ofDoubles;
};

Result<std::vector<TensorType>> inferUnary(const OperatorCall& call);
Result<std::vector<TensorType>> inferUnaryGradient(const OperatorCall& call);
Result<Kernel> unaryKernel(const UnaryDefinition& definition, const OperatorCall& call);
Result<Kernel> unaryGradientKernel(const UnaryDefinition& definition, const OperatorCall& call);
std::vector<Work> unaryWork(const UnaryDefinition& definition, const OperatorCall& call);
std::vector<Work> unaryGradientWork(const UnaryDefinition& definition, const OperatorCall& call);
Status unaryGradient(const UnaryDefinition& definition, GradientBuilder& builder);
std::vector<AttributeRule> attributeRules(const UnaryDefinition& definition);

template <class Op, class T>
constexpr UnaryLoops<T> kLoopsOf = {
    [](const T* x, T* y, std::int64_t count, const UnaryParameters<T>& parameters) {
      mapOne(x, y, count, [p = parameters](T each) { return Op::value(each, p); });
    },
    [](const T* r, const T* dy, T* dx, std::int64_t count, const UnaryParameters<T>& parameters) {
      mapPairs(r, dy, dx, count, [p = parameters](T at, T slope) { return Op::slope(at, slope, p); });
    }};

template <class Op>
constexpr UnaryDefinition kUnary = {Op::kType,       Op::kWork,           Op::kGradientWork,   Op::kReference,
                                    Op::kAttributes, kLoopsOf<Op, float>, kLoopsOf<Op, double>};

/// Registers the operator and its gradient.
template <class Op>
void addUnary(OperatorRegistry& registry) {
  registry.add({.type = Op::kType,
                .attributes = attributeRules(kUnary<Op>),
                .infer = inferUnary,
                .kernel = [](const OperatorCall& call) { return unaryKernel(kUnary<Op>, call); },
                .work = [](const OperatorCall& call) { return unaryWork(kUnary<Op>, call); },
                .gradient = [](GradientBuilder& builder) { return unaryGradient(kUnary<Op>, builder); },
                .inPlaceInput = 0});
  registry.add({.type = std::string("Grad") + Op::kType,
                .attributes = attributeRules(kUnary<Op>),
                .minInputs = 2,
                .maxInputs = 2,
                .infer = inferUnaryGradient,
                .kernel = [](const OperatorCall& call) { return unaryGradientKernel(kUnary<Op>, call); },
                .work = [](const OperatorCall& call) { return unaryGradientWork(kUnary<Op>, call); },
                .inPlaceInput = 1});
}

}  // namespace pipescope::ops

#define PIPESCOPE_UNARY(type, work, valueOf, reference, gradientOf, gradientWork, ...)                 \
  struct type {                                                                                        \
    static constexpr const char* kType = #type;                                                        \
    static constexpr MapFunction kWork = MapFunction::work, kGradientWork = MapFunction::gradientWork; \
    static constexpr UnaryReference kReference = UnaryReference::reference;                            \
    static constexpr std::array<UnaryAttribute, 3> kAttributes{{__VA_ARGS__}};                         \
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
