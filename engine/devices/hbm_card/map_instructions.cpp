#include "engine/devices/hbm_card/map_instructions.h"

#include <initializer_list>

#include "engine/devices/core/function_parts.h"
#include "profiler/base/check.h"

namespace pipescope::devices::hbm_card {
namespace {

using ops::MapFunction;

/// Looks up how many instructions a function takes, and adds up those of the parts of composed functions.
class Rows {
 public:
  explicit Rows(const SpecialFunctions& special) : special_(special) {}

  MapInstructions of(MapFunction function) const;

 private:
  static MapInstructions simple(double instructions) { return {instructions, false}; }
  static MapInstructions special(double instructions) { return {instructions, true}; }
  template <typename Parts>
  MapInstructions sumOf(const Parts& parts) const {
    MapInstructions sum;
    for (const MapFunction part : parts) {
      const MapInstructions row = of(part);
      sum.instructions += row.instructions;
      sum.wide = sum.wide || row.wide;
    }
    return sum;
  }
  MapInstructions madeOf(std::initializer_list<MapFunction> parts) const { return sumOf(parts); }

  const SpecialFunctions& special_;
};

MapInstructions Rows::of(MapFunction function) const {
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
    case normalise:  // the kernel inverts the sum of a row once, and multiplies
      return simple(1);
    case reluGradient:
    case select:
    case squareScaledAdd:
      return simple(2);
    case cast:
      return simple(special_.cast);
    case tanhGradient:
    case sigmoidGradient:
      return simple(3);
    case reciprocal:
      return special(special_.reciprocal);
    case divide:
      return special(special_.divide);
    case sqrt:
      return special(special_.sqrt);
    case rsqrt:
      return special(special_.rsqrt);
    case exp:
      return special(special_.exp);
    case fastExp:
      return simple(special_.fastExp);
    case log:
      return special(special_.log);
    case pow:
      return special(special_.pow);
    case remainder:
      return special(special_.remainder);
    case tanh:
      return special(special_.tanh);
    case sigmoid:
      return special(special_.sigmoid);
    case erf:
      return special(special_.erf);
    case sin:
      return special(special_.sin);
    case cos:
      return special(special_.cos);
    case tan:
      return special(special_.tan);
    case asin:
      return special(special_.asin);
    case atan:
      return special(special_.atan);

    case gelu:  // made of a hyperbolic tangent
      return madeOf({square, scaledAdd, multiply, tanh, scaledAdd, multiply, multiply});
    case geluGradient:
      return madeOf({gelu, square, scaledAdd, multiply, multiply, scaledAdd, multiply, scaledAdd, multiply});
    case softplus:
      return madeOf({exp, add, log});
    case adamStep:
      return madeOf({multiply, sqrt, add, divide, copy});
    case adam:
      return madeOf({multiply, scaledAdd, multiply, squareScaledAdd, adamStep, scaledAdd});
    case sign:
      return madeOf({less, greater, subtract});
    case sinhGradient:
      return madeOf({cosh, multiply});
    case coshGradient:
      return madeOf({sinh, multiply});
    case elu:
      return madeOf({exp, subtract, multiply, select});
    case celu:
      return madeOf({multiply, elu});
    case celuGradient:
      return madeOf({multiply, exp, multiply, select});
    case selu:
      return madeOf({elu, multiply});
    case seluGradient:
      return madeOf({eluGradient, multiply});
    case hardSigmoid:
      return madeOf({scaledAdd, maximum, minimum});
    case hardSigmoidGradient:
      return madeOf({scaledAdd, greater, less, multiply});
    case hardSwish:
      return madeOf({hardSigmoid, multiply});
    case hardSwishGradient:
      return madeOf({hardSigmoid, multiply, add});
    case quantize:
      return madeOf({multiply, round, add, maximum, minimum, cast});
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
      return sumOf(commonParts(function));
  }
  PIPESCOPE_CHECK(false, "an elementwise function that is not in the enumeration");
}

MapFunction functionOf(const ops::Map& work) {
  using enum MapFunction;
  if (work.function == divide && work.perRow) return multiply;
  return work.function == fastExp && graph::sizeOf(work.type) >= 4 ? exp : work.function;
}

}  // namespace

MapInstructions instructionsOf(const ops::Map& work, const SpecialFunctions& special) {
  return Rows(special).of(functionOf(work));
}

}  // namespace pipescope::devices::hbm_card
