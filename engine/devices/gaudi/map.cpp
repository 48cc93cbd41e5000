// Elementwise work on TPCs: so many vector instructions for each vector. (Simple instructions:
// docs.habana.ai, D; counts of special functions, which are looked up and interpolated in float32: recalled,
// R.)
#include <algorithm>
#include <string>

#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {
namespace {

struct Function {
  const char* name;
  double instructions;  ///< for a vector of float32
  bool wide;            ///< computed in float32 whatever the type: a vector of 16-bit elements makes two
};

constexpr Function kFunctions[] = {
    {"add", 1, false},
    {"subtract", 1, false},
    {"multiply", 1, false},
    {"negate", 1, false},
    {"square", 1, false},
    {"abs", 1, false},
    {"relu", 1, false},
    {"relu_gradient", 2, false},
    {"maximum", 1, false},
    {"minimum", 1, false},
    {"max", 1, false},
    {"min", 1, false},
    {"equal", 1, false},
    {"less", 1, false},
    {"greater", 1, false},
    {"select", 2, false},
    {"copy", 1, false},
    {"fill", 1, false},
    {"cast", 2, false},
    {"scaled_add", 1, false},
    {"divide", 9, true},
    {"reciprocal", 8, true},
    {"exp", 10, true},
    {"log", 12, true},
    {"sqrt", 8, true},
    {"rsqrt", 8, true},
    {"tanh", 12, true},
    {"sigmoid", 12, true},
    {"sin", 14, true},
    {"cos", 14, true},
    {"erf", 14, true},
    {"gelu", 18, true},
    {"gelu_gradient", 26, true},
    {"silu", 13, true},
    {"pow", 24, true},
    {"square_scaled_add", 2, false},
    {"adam_step", 20, true},
    {"adam", 26, true},
    {"adamw", 28, true},
    {"tanh_gradient", 3, false},
    {"sigmoid_gradient", 3, false},
    {"softplus", 23, true},
    {"remainder", 12, true},
};

/// A function without a line of its own: a short float32 routine.
constexpr Function kOther = {"", 10, true};

const Function& functionOf(const std::string& name) {
  for (const Function& function : kFunctions) {
    if (name == function.name) return function;
  }
  return kOther;
}

std::string titleOf(std::string function) {
  if (!function.empty() && function[0] >= 'a' && function[0] <= 'z')
    function[0] = static_cast<char>(function[0] - 'a' + 'A');
  return function;
}

}  // namespace

base::Result<Kernel> lower(const ops::Map& work, const LoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  PIPESCOPE_TRY(checkElements("number of operands", {work.operands}, context));
  const Function& function = functionOf(work.function);
  const double wide = function.wide && graph::sizeOf(work.type) < 4 ? 2 : 1;
  // More than two operands are taken in one by one.
  const auto more = static_cast<double>(std::max<std::int64_t>(0, work.operands - 2));
  Kernel kernel = tpcKernel(context.card, titleOf(work.function), work.elements, work.type,
                            function.instructions * wide + more);
  kernel.elementwise = true;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
