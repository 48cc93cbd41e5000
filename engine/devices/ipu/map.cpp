// Elementwise work: supervisor and worker overhead, then so many cycles per vector. (Cycles: PopLibs popops
// and popnn, C.)
#include <algorithm>
#include <string>
#include <vector>

#include "engine/devices/ipu/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/rounding.h"

namespace pipescope::devices::ipu {
namespace {

/// Cycles of a worker for so many elements.
struct Pace {
  std::int64_t cycles = 0, elements = 1;
};
struct Function {
  const char* name;
  Pace single, half, halfInPlace;  ///< halfInPlace: the same as half where no cycles are given
};

constexpr Function kFunctions[] = {
    {"add", {3, 2}, {3, 4}, {}},
    {"subtract", {3, 2}, {3, 4}, {}},
    {"multiply", {3, 2}, {3, 4}, {}},
    {"negate", {3, 2}, {3, 4}, {}},
    {"square", {3, 2}, {3, 4}, {}},
    {"abs", {3, 2}, {3, 4}, {}},
    {"divide", {10, 2}, {21, 4}, {}},
    {"reciprocal", {10, 2}, {21, 4}, {}},
    {"exp", {6, 2}, {4, 4}, {}},
    {"log", {12, 2}, {4, 4}, {}},
    {"tanh", {12, 2}, {4, 4}, {2, 4}},
    {"sigmoid", {12, 2}, {6, 4}, {4, 4}},
    {"sin", {2300, 1}, {25, 1}, {}},
    {"cos", {2300, 1}, {25, 1}, {}},
    {"relu", {3, 2}, {3, 4}, {2, 4}},
    {"relu_gradient", {3, 2}, {3, 4}, {}},
    {"sqrt", {10, 2}, {23, 4}, {}},
    {"rsqrt", {8, 2}, {19, 4}, {}},
    {"gelu", {22, 1}, {16, 1}, {}},
    {"gelu_gradient", {22, 1}, {16, 1}, {}},
    {"erf", {22, 1}, {16, 1}, {}},
    {"max", {3, 2}, {4, 4}, {}},
    {"maximum", {3, 2}, {4, 4}, {}},
    {"min", {3, 2}, {4, 4}, {}},
    {"minimum", {3, 2}, {4, 4}, {}},
    {"equal", {14, 4}, {9, 4}, {}},
    {"less", {14, 4}, {9, 4}, {}},
    {"greater", {14, 4}, {9, 4}, {}},
    {"select", {14, 4}, {9, 4}, {}},
    {"pow", {312, 1}, {312, 1}, {}},
    {"cast", {1, 2}, {1, 4}, {}},
    {"fill", {1, 2}, {1, 4}, {}},
    {"copy", {1, 2}, {1, 4}, {}},
    // One element's share of Adam: two scaled additions, a square, a square root, a division and the update
    // (X: sum of the rows above).
    {"adam", {41, 2}, {65, 4}, {}},
    {"adamw", {44, 2}, {68, 4}, {}},
    // Functions without published cycles: the C library's scalar ones as sin, others as the sum of the rows above
    // that they are made of (X).
    {"tan", {2300, 1}, {25, 1}, {}},
    {"asin", {2300, 1}, {25, 1}, {}},
    {"acos", {2300, 1}, {25, 1}, {}},
    {"atan", {2300, 1}, {25, 1}, {}},
    {"sinh", {2300, 1}, {25, 1}, {}},
    {"cosh", {2300, 1}, {25, 1}, {}},
    {"asinh", {2300, 1}, {25, 1}, {}},
    {"acosh", {2300, 1}, {25, 1}, {}},
    {"atanh", {2300, 1}, {25, 1}, {}},
    {"elu", {12, 2}, {10, 4}, {}},
    {"selu", {15, 2}, {13, 4}, {}},
    {"celu", {15, 2}, {13, 4}, {}},
    {"softplus", {21, 2}, {11, 4}, {}},
    {"softsign", {16, 2}, {27, 4}, {}},
    {"erf_gradient", {22, 1}, {16, 1}, {}},
    {"tanh_gradient", {6, 2}, {6, 4}, {}},
    {"sigmoid_gradient", {6, 2}, {6, 4}, {}},
    {"softplus_gradient", {15, 2}, {9, 4}, {}},
    {"remainder", {16, 2}, {27, 4}, {}},
};

/// Loops that are not written in assembly take 5 cycles more per vector than an addition.
constexpr Function kOther = {"", {8, 2}, {8, 4}, {}};

const Function& functionOf(const std::string& name) {
  for (const Function& function : kFunctions) {
    if (name == function.name) return function;
  }
  return kOther;
}

bool isNonLinearity(const std::string& name) {
  for (const char* known : {"relu", "relu_gradient", "tanh", "sigmoid", "gelu", "gelu_gradient"}) {
    if (name == known) return true;
  }
  return false;
}

std::int64_t codeBytes(const std::string& name) {
  if (name == "gelu" || name == "gelu_gradient") return kCodeGelu;
  if (name == "scaled_add" || name == "adam" || name == "adamw") return kCodeScaledAdd;
  if (name == "cast") return kCodeCast;
  if (name == "fill") return kCodeFill;
  return isNonLinearity(name) ? kCodeNonLinearity : kCodeElementwise;
}

std::string vertexType(const ops::Map& work) {
  const std::string type = isHalf(work.type) ? "half" : "float";
  const std::string suffix = work.inPlace ? "InPlace" : "";
  if (isNonLinearity(work.function))
    return "popnn::NonLinearity1D" + suffix + "<" + work.function + "," + type + ">";
  return (work.operands > 1 ? "popops::BinaryOp1D" : "popops::UnaryOp1D") + suffix + "<" + work.function +
         "," + type + ">";
}

std::int64_t cyclesOf(const Chip& chip, const ops::Map& work, std::int64_t elements) {
  const bool half = isHalf(work.type);
  if (work.function == "scaled_add") {
    return 50 +
           chip.workers * (21 + 3 * ceilDiv(ceilDiv(elements, chip.vectorWidth(work.type)), chip.workers));
  }
  const Function& function = functionOf(work.function);
  const Pace pace =
      half ? (work.inPlace && function.halfInPlace.cycles > 0 ? function.halfInPlace : function.half)
           : function.single;
  std::int64_t start = work.function == "exp" ? 33 : 17;
  if (work.function == "cast") start = 37;
  if (work.function == "fill") start = 26;
  if (work.operands > 1) start = half ? 26 : 29;
  if (work.operands > 1 && work.inPlace) start = half ? 55 : 58;
  const std::int64_t groups = ceilDiv(ceilDiv(elements, pace.elements), chip.workers);
  // More than two operands are taken in pair by pair.
  const std::int64_t passes = std::max<std::int64_t>(1, work.operands - 1);
  return 11 + chip.workers * passes * (start + groups * pace.cycles);
}

std::string titleOf(std::string function) {
  if (!function.empty() && function[0] >= 'a' && function[0] <= 'z')
    function[0] = static_cast<char>(function[0] - 'a' + 'A');
  return function;
}

}  // namespace

base::Result<LoweredWork> lower(const ops::Map& work, const LoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  PIPESCOPE_TRY(checkElements("number of operands", {work.operands}, context));
  const Chip& chip = context.chip;
  LoweredWork lowered;
  const TileRuns elements = spreadEvenly(chip, work.elements, graph::sizeOf(work.type));
  lowered.compute(chip, titleOf(work.function),
                  transformed(elements, [&](std::int64_t n) { return cyclesOf(chip, work, n); }),
                  {vertexType(work), codeBytes(work.function), kStateSimple, 0});
  return lowered;
}

}  // namespace pipescope::devices::ipu
