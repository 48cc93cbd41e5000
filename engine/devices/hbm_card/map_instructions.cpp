#include "engine/devices/hbm_card/map_instructions.h"

#include <initializer_list>

#include "engine/devices/core/function_parts.h"
#include "profiler/base/check.h"

namespace pipescope::devices::hbm_card {
namespace {

using ops::MapFunction;

using FunctionRow = MapInstructions;

constexpr FunctionRow simple(double instructions) {
  return {instructions, false};
}
constexpr FunctionRow special(double instructions) {
  return {instructions, true};
}
constexpr void add(FunctionRow& sum, const FunctionRow& part) {
  sum.instructions += part.instructions;
  sum.wide = sum.wide || part.wide;
}
constexpr FunctionRow madeOf(std::initializer_list<FunctionRow> parts) {
  FunctionRow sum;
  for (const FunctionRow& part : parts) add(sum, part);
  return sum;
}
constexpr FunctionRow rowOf(MapFunction function);
constexpr FunctionRow madeOf(const FunctionParts& parts) {
  FunctionRow sum;
  for (const MapFunction part : parts) add(sum, rowOf(part));
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
    case normalise:
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
    case tan:
      return madeOf({rowOf(sin), rowOf(cos), rowOf(divide)});
    case sinhGradient:
      return madeOf({rowOf(cosh), rowOf(multiply)});
    case coshGradient:
      return madeOf({rowOf(sinh), rowOf(multiply)});
    case elu:
      return madeOf({rowOf(exp), rowOf(subtract), rowOf(multiply), rowOf(select)});
    case celu:
      return madeOf({rowOf(multiply), rowOf(elu)});
    case celuGradient:
      return madeOf({rowOf(multiply), rowOf(exp), rowOf(multiply), rowOf(select)});
    case selu:
      return madeOf({rowOf(elu), rowOf(multiply)});
    case seluGradient:
      return madeOf({rowOf(eluGradient), rowOf(multiply)});
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
    case acos:
    case sinh:
    case cosh:
    case asinh:
    case acosh:
    case atanh:
    case tanGradient:
    case asinGradient:
    case acoshGradient:
    case acosGradient:
    case atanGradient:
    case asinhGradient:
    case atanhGradient:
    case reciprocalGradient:
    case erfGradient:
    case eluGradient:
    case softplusGradient:
    case softsign:
    case softsignGradient:
    case leakyRelu:
    case leakyReluGradient:
    case prelu:
    case preluGradient:
    case thresholdedRelu:
    case thresholdedReluGradient:
    case shrink:
    case dequantize:
    case complexMultiplyAdd:
    case overlap:
      return madeOf(commonParts(function));
  }
  PIPESCOPE_CHECK(false, "an elementwise function that is not in the enumeration");
}

}  // namespace

MapInstructions instructionsOf(ops::MapFunction function) {
  return rowOf(function);
}

}  // namespace pipescope::devices::hbm_card
