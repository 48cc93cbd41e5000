// Activation functions of one tensor. Where a slope jumps, the point itself belongs to the side that ONNX's
// formula gives it, as in PyTorch.
#include "engine/ops/math/unary.h"

namespace pipescope::ops {
namespace {

/// NaN stays NaN.
template <class T>
T within(T x, T low, T high) {
  return x < low ? low : x > high ? high : x;
}
template <class T>
T softplus(T x) {
  return (x > T(0) ? x : T(0)) + (x != x ? x : std::log1p(lanes::exp(-std::fabs(x))));
}

PIPESCOPE_UNARY(LeakyRelu, leakyRelu, x<T(0) ? p.a * x : x, input, r> T(0) ? dy : p.a* dy, leakyReluGradient,
                {"alpha", 0.01})
PIPESCOPE_UNARY(Elu, elu, x<T(0) ? p.a * std::expm1(x) : x, input, r> T(0) ? dy : dy* p.a* lanes::exp(r),
                eluGradient, {"alpha", 1.0})
PIPESCOPE_UNARY(Selu, selu, x > T(0) ? p.b * x : p.b * (p.a * std::expm1(x)), input,
                r > T(0) ? p.b * dy : dy * p.b * p.a * lanes::exp(r), seluGradient,
                {"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875})
PIPESCOPE_UNARY(Celu, celu,
                x<T(0) ? p.a * std::expm1(x / p.a) : x, input, r> T(0) ? dy : dy* lanes::exp(r / p.a),
                celuGradient, {"alpha", 1.0})
PIPESCOPE_UNARY(HardSigmoid, hardSigmoid, within(p.a* x + p.b, T(0), T(1)), input,
                p.a* r + p.b > T(0) && p.a * r + p.b < T(1) ? p.a * dy : T(0), hardSigmoidGradient,
                {"alpha", 0.2}, {"beta", 0.5})
PIPESCOPE_UNARY(HardSwish, hardSwish, x* within(x / T(6) + T(0.5), T(0), T(1)), input,
                r <= T(-3)  ? T(0)
                : r >= T(3) ? dy
                            : dy * (r / T(3) + T(0.5)),
                hardSwishGradient)
PIPESCOPE_UNARY(ThresholdedRelu, thresholdedRelu, x <= p.a ? T(0) : x, input, r <= p.a ? T(0) : dy,
                thresholdedReluGradient, {"alpha", 1.0})
PIPESCOPE_UNARY(Softplus, softplus, softplus(x), input, dy* lanes::sigmoid(r), softplusGradient)
PIPESCOPE_UNARY(Shrink, shrink,
                x<-p.b ? x + p.a : x> p.b ? x - p.a
                : x != x                  ? x
                                          : T(0),
                input, r<-p.b || r> p.b ? dy : T(0), select, {"bias", 0.0}, {"lambd", 0.5})
PIPESCOPE_UNARY(Softsign, softsign, x / (T(1) + std::fabs(x)), input,
                dy / ((T(1) + std::fabs(r)) * (T(1) + std::fabs(r))), softsignGradient)

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(unary_activation) {
  addUnary<LeakyRelu>(registry);
  addUnary<Elu>(registry);
  addUnary<Selu>(registry);
  addUnary<Celu>(registry);
  addUnary<HardSigmoid>(registry);
  addUnary<HardSwish>(registry);
  addUnary<ThresholdedRelu>(registry);
  addUnary<Softplus>(registry);
  addUnary<Shrink>(registry);
  addUnary<Softsign>(registry);
}

}  // namespace pipescope::ops
