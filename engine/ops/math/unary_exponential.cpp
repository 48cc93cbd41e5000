// Exp, Log, Sqrt, Reciprocal, Erf, Tanh and Sigmoid.
#include "engine/ops/math/unary.h"

namespace pipescope::ops {
namespace {

template <class T>
constexpr T kTwoOverSqrtPi = T(1.12837916709551257390);

PIPESCOPE_UNARY(Exp, exp, lanes::exp(x), output, dy* r, multiply)
PIPESCOPE_UNARY(Log, log, lanes::log(x), input, dy / r, divide)
PIPESCOPE_UNARY(Sqrt, sqrt, std::sqrt(x), output, T(0.5) * dy / r, divide)
PIPESCOPE_UNARY(Reciprocal, reciprocal, T(1) / x, output, -dy* r* r, reciprocalGradient)
PIPESCOPE_UNARY(Erf, erf, lanes::erf(x), input, dy* kTwoOverSqrtPi<T>* lanes::exp(-r* r), erfGradient)
PIPESCOPE_UNARY(Tanh, tanh, lanes::tanh(x), output, dy*(T(1) - r * r), tanhGradient)
PIPESCOPE_UNARY(Sigmoid, sigmoid, lanes::sigmoid(x), output, dy* r*(T(1) - r), sigmoidGradient)

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(unary_exponential) {
  addUnary<Exp>(registry);
  addUnary<Log>(registry);
  addUnary<Sqrt>(registry);
  addUnary<Reciprocal>(registry);
  addUnary<Erf>(registry);
  addUnary<Tanh>(registry);
  addUnary<Sigmoid>(registry);
}

}  // namespace pipescope::ops
