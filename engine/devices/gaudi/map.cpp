// Elementwise work on TPCs: each function takes a number of vector instructions for each vector. (D: simple
// instructions, docs.habana.ai. R: special functions, which TPCs look up and interpolate in float32. X:
// functions made of others take the sum.)
#include <algorithm>
#include <initializer_list>

#include "engine/devices/core/titles.h"
#include "engine/devices/gaudi/kernel.h"
#include "profiler/base/check.h"

namespace pipescope::devices::gaudi {
namespace {

using ops::MapFunction;

struct FunctionRow {
  double instructions = 0;  ///< for a vector of float32
  bool wide = false;  ///< computed in float32 for every type: a vector of 16-bit elements becomes two vectors
};

constexpr FunctionRow simple(double instructions) {
  return {instructions, false};
}
constexpr FunctionRow special(double instructions) {
  return {instructions, true};
}
constexpr FunctionRow madeOf(std::initializer_list<FunctionRow> parts) {
  FunctionRow sum;
  for (const FunctionRow& part : parts) {
    sum.instructions += part.instructions;
    sum.wide = sum.wide || part.wide;
  }
  return sum;
}

constexpr FunctionRow rowOf(MapFunction function) {
  using enum MapFunction;
  switch (function) {
    case add:
    case subtract:
    case multiply:
    case negate:
    case square:
    case abs:
    case relu:
    case maximum:
    case minimum:
    case equal:
    case notEqual:
    case less:
    case greater:
    case logicalAnd:
    case logicalOr:
    case logicalXor:
    case logicalNot:
    case shift:
    case ceil:
    case floor:
    case round:
    case copy:
    case fill:
    case scaledAdd:
      return simple(1);
    case reluGradient:
    case select:
    case cast:
    case squareScaledAdd:
      return simple(2);
    case tanhGradient:
    case sigmoidGradient:
      return simple(3);
    case divide:
      return special(9);
    case reciprocal:
    case sqrt:
    case rsqrt:
      return special(8);
    case exp:
      return special(10);
    case log:
    case tanh:
    case sigmoid:
    case remainder:
      return special(12);
    case sin:
    case cos:
    case erf:
      return special(14);
    case gelu:
      return special(18);
    case adamStep:
      return special(20);
    case softplus:
      return special(23);
    case pow:
      return special(24);
    case adam:
    case geluGradient:
      return special(26);
    case asin:
    case atan:  // polynomials like those of sine and error function
      return special(14);

    case sign:
      return madeOf({rowOf(less), rowOf(greater), rowOf(subtract)});
    case acos:
      return madeOf({rowOf(asin), rowOf(subtract)});
    case tan:
      return madeOf({rowOf(sin), rowOf(cos), rowOf(divide)});
    case sinh:
      return madeOf({rowOf(exp), rowOf(reciprocal), rowOf(subtract), rowOf(multiply)});
    case cosh:
      return madeOf({rowOf(exp), rowOf(reciprocal), rowOf(add), rowOf(multiply)});
    case asinh:
      return madeOf({rowOf(square), rowOf(add), rowOf(sqrt), rowOf(add), rowOf(log)});
    case acosh:
      return madeOf({rowOf(square), rowOf(subtract), rowOf(sqrt), rowOf(add), rowOf(log)});
    case atanh:
      return madeOf({rowOf(add), rowOf(subtract), rowOf(divide), rowOf(log), rowOf(multiply)});
    case tanGradient:
      return madeOf({rowOf(square), rowOf(add), rowOf(multiply)});
    case asinGradient:
    case acoshGradient:
      return madeOf({rowOf(square), rowOf(subtract), rowOf(rsqrt), rowOf(multiply)});
    case acosGradient:
      return madeOf({rowOf(square), rowOf(subtract), rowOf(rsqrt), rowOf(multiply), rowOf(negate)});
    case atanGradient:
      return madeOf({rowOf(square), rowOf(add), rowOf(divide)});
    case sinhGradient:
      return madeOf({rowOf(cosh), rowOf(multiply)});
    case coshGradient:
      return madeOf({rowOf(sinh), rowOf(multiply)});
    case asinhGradient:
      return madeOf({rowOf(square), rowOf(add), rowOf(rsqrt), rowOf(multiply)});
    case atanhGradient:
      return madeOf({rowOf(square), rowOf(subtract), rowOf(divide)});
    case reciprocalGradient:
      return madeOf({rowOf(square), rowOf(multiply), rowOf(negate)});
    case erfGradient:
      return madeOf({rowOf(square), rowOf(exp), rowOf(multiply), rowOf(multiply)});
    case elu:
      return madeOf({rowOf(exp), rowOf(subtract), rowOf(multiply), rowOf(select)});
    case eluGradient:
      return madeOf({rowOf(exp), rowOf(multiply), rowOf(multiply), rowOf(select)});
    case celu:
      return madeOf({rowOf(multiply), rowOf(elu)});
    case celuGradient:
      return madeOf({rowOf(multiply), rowOf(exp), rowOf(multiply), rowOf(select)});
    case selu:
      return madeOf({rowOf(elu), rowOf(multiply)});
    case seluGradient:
      return madeOf({rowOf(eluGradient), rowOf(multiply)});
    case softplusGradient:
      return madeOf({rowOf(sigmoid), rowOf(multiply)});
    case softsign:
      return madeOf({rowOf(abs), rowOf(add), rowOf(divide)});
    case softsignGradient:
      return madeOf({rowOf(abs), rowOf(add), rowOf(square), rowOf(divide)});
    case leakyRelu:
    case leakyReluGradient:
    case prelu:
      return madeOf({rowOf(multiply), rowOf(select)});
    case preluGradient:
      return madeOf({rowOf(multiply), rowOf(multiply), rowOf(select)});
    case thresholdedRelu:
    case thresholdedReluGradient:
      return madeOf({rowOf(greater), rowOf(multiply)});
    case shrink:
      return madeOf({rowOf(add), rowOf(greater), rowOf(select)});
    case hardSigmoid:
      return madeOf({rowOf(scaledAdd), rowOf(maximum), rowOf(minimum)});
    case hardSigmoidGradient:
      return madeOf({rowOf(scaledAdd), rowOf(greater), rowOf(less), rowOf(multiply)});
    case hardSwish:
      return madeOf({rowOf(hardSigmoid), rowOf(multiply)});
    case hardSwishGradient:
      return madeOf({rowOf(hardSigmoid), rowOf(multiply), rowOf(add)});
    case quantize:
      return madeOf({rowOf(multiply), rowOf(round), rowOf(add), rowOf(maximum), rowOf(minimum), rowOf(cast)});
    case dequantize:
      return madeOf({rowOf(cast), rowOf(subtract), rowOf(multiply)});
    case complexMultiplyAdd:
      return madeOf({rowOf(multiply), rowOf(scaledAdd), rowOf(multiply), rowOf(scaledAdd)});
    case overlap:
      // The parts are: the corners of the intersection, its sides (not below 0) and its area; the areas of
      // both boxes; the area of the union; the quotient and its comparison with the threshold.
      return madeOf({rowOf(maximum), rowOf(maximum), rowOf(minimum), rowOf(minimum), rowOf(subtract),
                     rowOf(subtract), rowOf(maximum), rowOf(maximum), rowOf(multiply), rowOf(subtract),
                     rowOf(subtract), rowOf(multiply), rowOf(subtract), rowOf(subtract), rowOf(multiply),
                     rowOf(add), rowOf(subtract), rowOf(divide), rowOf(greater)});
  }
  PIPESCOPE_CHECK(false, "an elementwise function that is not in the enumeration");
}

}  // namespace

base::Result<EngineKernel> lower(const ops::Map& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  PIPESCOPE_TRY(checkElements("number of operands", {work.operands}, context));
  const FunctionRow row = rowOf(work.function);
  const double wide = row.wide && graph::sizeOf(work.type) < 4 ? 2 : 1;
  // Operands beyond the second are taken in one by one.
  const auto more = static_cast<double>(std::max<std::int64_t>(0, work.operands - 2));
  EngineKernel kernel = tpcKernel(context.card, titleOf(work.function), work.elements, work.type,
                                  row.instructions * wide + more);
  kernel.elementwise = true;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
