// Trigonometric and hyperbolic functions and their inverses. They give NaN outside their domain.
#include "engine/ops/math/unary.h"

namespace pipescope::ops {
namespace {

PIPESCOPE_UNARY(Sin, sin, std::sin(x), input, dy* std::cos(r), cos)
PIPESCOPE_UNARY(Cos, cos, std::cos(x), input, -dy* std::sin(r), sin)
PIPESCOPE_UNARY(Tan, tan, std::tan(x), output, dy*(T(1) + r * r), tanGradient)
PIPESCOPE_UNARY(Asin, asin, std::asin(x), input, dy / std::sqrt(T(1) - r * r), asinGradient)
PIPESCOPE_UNARY(Acos, acos, std::acos(x), input, -dy / std::sqrt(T(1) - r * r), acosGradient)
PIPESCOPE_UNARY(Atan, atan, std::atan(x), input, dy / (T(1) + r * r), atanGradient)
PIPESCOPE_UNARY(Sinh, sinh, std::sinh(x), input, dy* std::cosh(r), sinhGradient)
PIPESCOPE_UNARY(Cosh, cosh, std::cosh(x), input, dy* std::sinh(r), coshGradient)
PIPESCOPE_UNARY(Asinh, asinh, std::asinh(x), input, dy / std::sqrt(r * r + T(1)), asinhGradient)
PIPESCOPE_UNARY(Acosh, acosh, std::acosh(x), input, dy / std::sqrt((r - T(1)) * (r + T(1))), acoshGradient)
PIPESCOPE_UNARY(Atanh, atanh, std::atanh(x), input, dy / (T(1) - r * r), atanhGradient)

}  // namespace

PIPESCOPE_REGISTER_OPERATOR(unary_trigonometric) {
  addUnary<Sin>(registry);
  addUnary<Cos>(registry);
  addUnary<Tan>(registry);
  addUnary<Asin>(registry);
  addUnary<Acos>(registry);
  addUnary<Atan>(registry);
  addUnary<Sinh>(registry);
  addUnary<Cosh>(registry);
  addUnary<Asinh>(registry);
  addUnary<Acosh>(registry);
  addUnary<Atanh>(registry);
}

}  // namespace pipescope::ops
