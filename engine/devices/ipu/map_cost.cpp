#include "engine/devices/ipu/map_cost.h"

#include <algorithm>
#include <initializer_list>

#include "engine/devices/core/function_parts.h"
#include "engine/ops/core/rounding.h"
#include "profiler/base/check.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

using ops::MapFunction;

/// The pace of one function's inner loop by type: float32, float16, both again where the result overwrites
/// the operand, and whole numbers. Where one of the last three has no cycles, the loop is as fast as the
/// first one of its type.
struct FunctionRow {
  Pace single, half;
  Pace singleInPlace = {0, 1}, halfInPlace = {0, 1}, whole = {0, 1};
};

constexpr Pace paceOf(const FunctionRow& row, ElementType type, bool inPlace) {
  if (type >= ElementType::int8 && type <= ElementType::uint64)
    return row.whole.cycles > 0 ? row.whole : row.single;
  const bool half = type == ElementType::float16;
  const Pace own = half ? row.halfInPlace : row.singleInPlace;
  return inPlace && own.cycles > 0 ? own : half ? row.half : row.single;
}

/// The row of a vertex that is generated from an expression: the sum of the vertices of its parts. This
/// counts a load and a store for each part, which is more rather than less than the generated loop takes
/// (grade X).
class GeneratedRow {
 public:
  constexpr void add(const FunctionRow& part) {
    sum_.single.cycles += paceOf(part, ElementType::float32, true).cyclesFor(kBlock);
    sum_.half.cycles += paceOf(part, ElementType::float16, true).cyclesFor(kBlock);
    sum_.whole.cycles += paceOf(part, ElementType::int32, true).cyclesFor(kBlock);
  }
  constexpr FunctionRow sum() const { return sum_; }

 private:
  static constexpr std::int64_t kBlock = 4;  // elements: a whole number of steps of every part's loop
  FunctionRow sum_{{0, kBlock}, {0, kBlock}, {0, 1}, {0, 1}, {0, kBlock}};
};
constexpr FunctionRow madeOf(std::initializer_list<FunctionRow> parts) {
  GeneratedRow row;
  for (const FunctionRow& part : parts) row.add(part);
  return row.sum();
}
constexpr FunctionRow rowOf(MapFunction function);
constexpr FunctionRow madeOf(const FunctionParts& parts) {
  GeneratedRow row;
  for (const MapFunction part : parts) row.add(rowOf(part));
  return row.sum();
}

/// PopLibs has a vertex for this function, but no operator asks for it alone.
constexpr FunctionRow kExpm1 = {{8, 1}, {9, 4}};

/// Vertices of PopLibs (grade C: the tables of cycles per loop in popops and popnn; where a loop does not say
/// how many elements it takes, four cycles for loads, store and branch are added), and functions made of
/// them.
constexpr FunctionRow rowOf(MapFunction function) {
  using enum MapFunction;
  switch (function) {
    case add:
    case subtract:
    case multiply:
    // PopLibs inverts the sums of a softmax and multiplies by them (C: softmaxImpl of popnn's
    // NonLinearity.cpp). The inverses themselves, one for each row, are left out.
    case normalise:
      return {{3, 2}, {3, 4}, {}, {}, {7, 1}};
    case divide:
      return {{10, 2}, {21, 4}, {}, {}, {277, 1}};
    case remainder:
      return {{133, 2}, {300, 4}, {}, {}, {292, 1}};
    case atan:  // atan2(x, 1), counted in blocks of four elements
      return {{2 * 272, 4}, {578, 4}};
    case pow:
      return {{312, 1}, {325, 1}};
    case maximum:
    case minimum:
      return {{4, 2}, {4, 4}, {}, {}, {7, 1}};
    case equal:
    case notEqual:
    case less:
    case greater:
      return {{14, 4}, {9, 4}};
    case select:
      return {{5, 1}, {5, 1}};
    case logicalAnd:
    case logicalOr:
      return {{5, 4}, {5, 4}, {}, {}, {7, 1}};
    case logicalNot:
      return {{21, 1}, {21, 1}, {}, {}, {5, 2}};
    case shift:
      return {{7, 1}, {7, 1}};
    case negate:
      return {{2, 2}, {2, 4}, {3, 2}, {3, 4}, {6, 1}};
    case square:
      return {{2, 2}, {2, 4}, {}, {}, {5, 2}};
    case abs:
      return {{5, 1}, {5, 1}, {5, 2}, {5, 4}, {6, 1}};
    case sign:
      return {{9, 2}, {9, 4}, {}, {}, {9, 1}};
    case ceil:
    case floor:
    case round:
      return {{6, 2}, {6, 4}};
    case reciprocal:
      return {{6, 2}, {15, 4}};
    case sqrt:
      return {{10, 2}, {23, 4}, {}, {}, {114, 1}};
    case rsqrt:
      return {{8, 2}, {19, 4}};
    case exp:
    case fastExp:
      return {{6, 2}, {4, 4}};
    case log:
      return {{12, 2}, {4, 4}, {14, 2}, {6, 4}};
    case sin:
    case cos:
      return {{2304, 1}, {26, 1}};
    case tan:
      return {{5100, 1}, {5700, 1}};
    case asin:
      return {{106, 1}, {106, 1}};
    case tanh:
      return {{12, 2}, {4, 4}, {10, 2}, {2, 4}};
    case sigmoid:
      return {{12, 2}, {6, 4}, {10, 2}, {4, 4}};
    case relu:
      return {{3, 2}, {3, 4}, {2, 2}, {2, 4}};
    case reluGradient:
      return {{3, 2}, {3, 4}};
    case erf:
      return {{18, 1}, {16, 1}};
    // Frameworks take popnn's Gelu, which approximates it by tanh whatever the model says (C: popart's
    // gelux.cpp, poptorch's gelu::lowerToPoplar). The loops are the estimates of popnn's cycles; they fit its
    // count of 8 FLOP for each element.
    case gelu:
      return {{20, 2}, {10, 4}};
    // X: popnn counts 15 FLOP for each element. A vector takes an instruction for each, the tanh 2 in float16
    // and 10 in float32.
    case geluGradient:
      return {{24, 2}, {16, 4}};
    case scaledAdd:
      return {{3, 2}, {3, 4}};
    case cast:
    case fill:
    case copy:
      return {{1, 2}, {1, 4}};

    case logicalXor:
      return madeOf({rowOf(logicalOr), rowOf(logicalAnd), rowOf(logicalNot)});
    case sinhGradient:
      return madeOf({rowOf(exp), rowOf(reciprocal), rowOf(add), rowOf(multiply), rowOf(multiply)});
    case coshGradient:
      return madeOf({rowOf(exp), rowOf(reciprocal), rowOf(subtract), rowOf(multiply), rowOf(multiply)});
    case tanhGradient:
      return madeOf({rowOf(square), rowOf(subtract), rowOf(multiply)});
    case sigmoidGradient:
      return madeOf({rowOf(subtract), rowOf(multiply), rowOf(multiply)});
    case elu:
      return madeOf({kExpm1, rowOf(multiply), rowOf(select)});
    case celu:
      return madeOf({rowOf(divide), kExpm1, rowOf(multiply), rowOf(select)});
    case celuGradient:
      return madeOf({rowOf(divide), rowOf(exp), rowOf(multiply), rowOf(select)});
    case selu:
      return madeOf({kExpm1, rowOf(multiply), rowOf(multiply), rowOf(select)});
    case seluGradient:
      return madeOf({rowOf(exp), rowOf(multiply), rowOf(multiply), rowOf(multiply), rowOf(select)});
    case softplus:
      return madeOf({rowOf(exp), rowOf(add), rowOf(log)});
    case hardSigmoid:
      return madeOf({rowOf(multiply), rowOf(add), rowOf(maximum), rowOf(minimum)});
    case hardSigmoidGradient:
      return madeOf({rowOf(multiply), rowOf(add), rowOf(greater), rowOf(less), rowOf(multiply)});
    case hardSwish:
      return madeOf({rowOf(multiply), rowOf(add), rowOf(maximum), rowOf(minimum), rowOf(multiply)});
    case hardSwishGradient:
      return madeOf(
          {rowOf(multiply), rowOf(add), rowOf(maximum), rowOf(minimum), rowOf(multiply), rowOf(add)});
    case squareScaledAdd:
      return madeOf({rowOf(square), rowOf(scaledAdd)});
    case quantize:
      return madeOf({rowOf(divide), rowOf(round), rowOf(maximum), rowOf(minimum), rowOf(cast)});
    case adam:
      return madeOf({rowOf(scaledAdd), rowOf(square), rowOf(scaledAdd), rowOf(sqrt), rowOf(add),
                     rowOf(divide), rowOf(scaledAdd)});
    case adamStep:
      return madeOf({rowOf(multiply), rowOf(sqrt), rowOf(add), rowOf(divide)});
    case acos:
    case sinh:
    case cosh:
    case asinh:
    case acosh:
    case atanh:
    case tanGradient:
    case asinGradient:
    case acosGradient:
    case atanGradient:
    case asinhGradient:
    case acoshGradient:
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

/// True if a vertex of more than two operands takes them in one by one. Vertices of other functions read all
/// their operands at once.
bool takesPairs(MapFunction function) {
  using enum MapFunction;
  return function == add || function == multiply || function == maximum || function == minimum;
}

}  // namespace

Pace mapPace(MapFunction function, ElementType type, bool inPlace) {
  return paceOf(rowOf(function), type, inPlace);
}

std::int64_t mapCycles(const Chip& chip, const ops::Map& work, std::int64_t elements) {
  const bool half = isHalf(work.type);
  const std::int64_t each = ceilDiv(elements, chip.workers);
  const Pace pace = mapPace(work.function, work.type, work.inPlace);
  const std::int64_t inner = ceilDiv(ceilDiv(elements, pace.elements), chip.workers) * pace.cycles;
  if (work.function == MapFunction::scaledAdd) {
    return 50 +
           chip.workers * (21 + 3 * ceilDiv(ceilDiv(elements, chip.vectorWidth(work.type)), chip.workers));
  }
  // This vertex works on two axes, and its workers take rows (C).
  if (work.function == MapFunction::select) return 11 + chip.workers * (11 + each * pace.cycles);
  std::int64_t start = work.function == MapFunction::exp || work.function == MapFunction::fastExp ? 33 : 17;
  if (work.function == MapFunction::cast) start = 37;
  if (work.function == MapFunction::fill) start = 26;
  if (work.operands > 1) start = half ? 26 : 29;
  if (work.operands > 1 && work.inPlace) start = half ? 55 : 58;
  const std::int64_t passes = takesPairs(work.function) ? std::max<std::int64_t>(1, work.operands - 1) : 1;
  return 11 + chip.workers * passes * (start + inner);
}

}  // namespace pipescope::devices::ipu
