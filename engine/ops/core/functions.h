#pragma once
// The functions that elementwise work, reductions and poolings can ask for. Each device family prices every
// one of them in a switch without a default, so a new function does not compile before all families have a
// price for it.
#include <cstdint>
#include <span>

namespace pipescope::ops {

/// The elementwise functions: each enumerator with the name that profiles and reports show. A name that ends
/// in
/// "_gradient" stands for dy · f'(x), computed from dy and the input or the result of f.
///   adam                  a whole Adam update: both moments, the direction and the step
///   adam_step             m ÷ (√(s · v) + ε): the direction in which Adam, LAMB and RMSprop go
///   complex_multiply_add  y + a · x in complex numbers
///   fast_exp              an exponential in the precision of its operand, as attention kernels take it
///   normalise             x ÷ s, where s is the same for a whole row: a device may invert each s once
///   overlap               tests how far two boxes overlap (intersection over union)
///   scaled_add            y + a · x
///   square_scaled_add     y + a · x²
#define PIPESCOPE_MAP_FUNCTIONS(X)                \
  X(abs, "abs")                                   \
  X(acos, "acos")                                 \
  X(acosGradient, "acos_gradient")                \
  X(acosh, "acosh")                               \
  X(acoshGradient, "acosh_gradient")              \
  X(adam, "adam")                                 \
  X(adamStep, "adam_step")                        \
  X(add, "add")                                   \
  X(asin, "asin")                                 \
  X(asinGradient, "asin_gradient")                \
  X(asinh, "asinh")                               \
  X(asinhGradient, "asinh_gradient")              \
  X(atan, "atan")                                 \
  X(atanGradient, "atan_gradient")                \
  X(atanh, "atanh")                               \
  X(atanhGradient, "atanh_gradient")              \
  X(cast, "cast")                                 \
  X(ceil, "ceil")                                 \
  X(celu, "celu")                                 \
  X(celuGradient, "celu_gradient")                \
  X(complexMultiplyAdd, "complex_multiply_add")   \
  X(copy, "copy")                                 \
  X(cos, "cos")                                   \
  X(cosh, "cosh")                                 \
  X(coshGradient, "cosh_gradient")                \
  X(dequantize, "dequantize")                     \
  X(divide, "divide")                             \
  X(elu, "elu")                                   \
  X(eluGradient, "elu_gradient")                  \
  X(equal, "equal")                               \
  X(erf, "erf")                                   \
  X(erfGradient, "erf_gradient")                  \
  X(exp, "exp")                                   \
  X(fastExp, "fast_exp")                          \
  X(fill, "fill")                                 \
  X(floor, "floor")                               \
  X(gelu, "gelu")                                 \
  X(geluGradient, "gelu_gradient")                \
  X(greater, "greater")                           \
  X(hardSigmoid, "hard_sigmoid")                  \
  X(hardSigmoidGradient, "hard_sigmoid_gradient") \
  X(hardSwish, "hard_swish")                      \
  X(hardSwishGradient, "hard_swish_gradient")     \
  X(leakyRelu, "leaky_relu")                      \
  X(leakyReluGradient, "leaky_relu_gradient")     \
  X(less, "less")                                 \
  X(log, "log")                                   \
  X(logicalAnd, "and")                            \
  X(logicalNot, "not")                            \
  X(logicalOr, "or")                              \
  X(logicalXor, "xor")                            \
  X(maximum, "maximum")                           \
  X(minimum, "minimum")                           \
  X(multiply, "multiply")                         \
  X(negate, "negate")                             \
  X(normalise, "normalise")                       \
  X(notEqual, "not_equal")                        \
  X(overlap, "overlap")                           \
  X(pow, "pow")                                   \
  X(prelu, "prelu")                               \
  X(preluGradient, "prelu_gradient")              \
  X(quantize, "quantize")                         \
  X(reciprocal, "reciprocal")                     \
  X(reciprocalGradient, "reciprocal_gradient")    \
  X(relu, "relu")                                 \
  X(reluGradient, "relu_gradient")                \
  X(remainder, "remainder")                       \
  X(round, "round")                               \
  X(rsqrt, "rsqrt")                               \
  X(scaledAdd, "scaled_add")                      \
  X(select, "select")                             \
  X(selu, "selu")                                 \
  X(seluGradient, "selu_gradient")                \
  X(shift, "shift")                               \
  X(shrink, "shrink")                             \
  X(sigmoid, "sigmoid")                           \
  X(sigmoidGradient, "sigmoid_gradient")          \
  X(sign, "sign")                                 \
  X(sin, "sin")                                   \
  X(sinh, "sinh")                                 \
  X(sinhGradient, "sinh_gradient")                \
  X(softplus, "softplus")                         \
  X(softplusGradient, "softplus_gradient")        \
  X(softsign, "softsign")                         \
  X(softsignGradient, "softsign_gradient")        \
  X(sqrt, "sqrt")                                 \
  X(square, "square")                             \
  X(squareScaledAdd, "square_scaled_add")         \
  X(subtract, "subtract")                         \
  X(tan, "tan")                                   \
  X(tanGradient, "tan_gradient")                  \
  X(tanh, "tanh")                                 \
  X(tanhGradient, "tanh_gradient")                \
  X(thresholdedRelu, "thresholded_relu")          \
  X(thresholdedReluGradient, "thresholded_relu_gradient")

enum class MapFunction : std::uint8_t {
#define PIPESCOPE_ENUMERATOR(id, name) id,
  PIPESCOPE_MAP_FUNCTIONS(PIPESCOPE_ENUMERATOR)
#undef PIPESCOPE_ENUMERATOR
};

enum class ReduceFunction : std::uint8_t { sum, mean, max, min, product, absSum, squareSum, argmax, argmin };

enum class PoolFunction : std::uint8_t { max, average };

/// The names that profiles and reports show: "scaled_add", "square_sum", "average".
const char* toString(MapFunction function);
const char* toString(ReduceFunction function);
const char* toString(PoolFunction function);

/// All elementwise functions, for tests of the families' prices.
std::span<const MapFunction> allMapFunctions();

}  // namespace pipescope::ops
