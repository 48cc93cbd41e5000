#include "engine/devices/ipu/map_cost.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/devices/ipu/rounding.h"

namespace pipescope::devices::ipu {
namespace {

/// A vertex of PopLibs (C: popops' and popnn's tables of cycles per loop; where a loop does not say how many
/// elements it takes, four cycles of loads, store and branch are added). In place, half, whole number: as the
/// first where empty.
struct VertexRow {
  const char* name;
  Pace single, half;
  Pace singleInPlace = {}, halfInPlace = {}, whole = {};
};

constexpr VertexRow kVertices[] = {
    {"add", {3, 2}, {3, 4}, {}, {}, {7, 1}},
    {"subtract", {3, 2}, {3, 4}, {}, {}, {7, 1}},
    {"multiply", {3, 2}, {3, 4}, {}, {}, {7, 1}},
    {"divide", {10, 2}, {21, 4}, {}, {}, {277, 1}},
    {"remainder", {133, 2}, {300, 4}, {}, {}, {292, 1}},
    {"atan2", {272, 2}, {578, 4}},
    {"pow", {312, 1}, {325, 1}},
    {"maximum", {4, 2}, {4, 4}, {}, {}, {7, 1}},
    {"minimum", {4, 2}, {4, 4}, {}, {}, {7, 1}},
    {"equal", {14, 4}, {9, 4}},
    {"not_equal", {14, 4}, {9, 4}},
    {"less", {14, 4}, {9, 4}},
    {"greater", {14, 4}, {9, 4}},
    {"select", {5, 1}, {5, 1}},
    {"and", {5, 4}, {5, 4}, {}, {}, {7, 1}},
    {"or", {5, 4}, {5, 4}, {}, {}, {7, 1}},
    {"not", {21, 1}, {21, 1}, {}, {}, {5, 2}},
    {"shift", {7, 1}, {7, 1}},
    {"negate", {2, 2}, {2, 4}, {3, 2}, {3, 4}, {6, 1}},
    {"square", {2, 2}, {2, 4}, {}, {}, {5, 2}},
    {"abs", {5, 1}, {5, 1}, {5, 2}, {5, 4}, {6, 1}},
    {"sign", {9, 2}, {9, 4}, {}, {}, {9, 1}},
    {"ceil", {6, 2}, {6, 4}},
    {"floor", {6, 2}, {6, 4}},
    {"round", {6, 2}, {6, 4}},
    {"reciprocal", {6, 2}, {15, 4}},
    {"sqrt", {10, 2}, {23, 4}, {}, {}, {114, 1}},
    {"rsqrt", {8, 2}, {19, 4}},
    {"cbrt", {31, 2}, {21, 4}},
    {"exp", {6, 2}, {4, 4}},
    {"expm1", {8, 1}, {9, 4}},
    {"log", {12, 2}, {4, 4}, {14, 2}, {6, 4}},
    {"log1p", {184, 2}, {184, 4}},
    {"sin", {2304, 1}, {26, 1}},
    {"cos", {2304, 1}, {26, 1}},
    {"tan", {5100, 1}, {5700, 1}},
    {"asin", {106, 1}, {106, 1}},
    {"tanh", {12, 2}, {4, 4}, {10, 2}, {2, 4}},
    {"sigmoid", {12, 2}, {6, 4}, {10, 2}, {4, 4}},
    {"relu", {3, 2}, {3, 4}, {2, 2}, {2, 4}},
    {"relu_gradient", {3, 2}, {3, 4}},
    {"erf", {18, 1}, {16, 1}},
    {"gelu", {22, 1}, {16, 1}},
    {"scaled_add", {3, 2}, {3, 4}},
    {"cast", {1, 2}, {1, 4}},
    {"fill", {1, 2}, {1, 4}},
    {"copy", {1, 2}, {1, 4}},
};

/// Functions without a vertex of their own are taken in by one that is generated from an expression (X: the
/// sum of what they are made of, each with its loads and stores, which is more rather than less than it
/// takes).
struct MadeOf {
  const char* name;
  std::vector<const char*> parts;
};

const std::vector<MadeOf>& madeOf() {
  static const std::vector<MadeOf> list{
      {"max", {"maximum"}},
      {"min", {"minimum"}},
      {"xor", {"or", "and", "not"}},
      {"acos", {"asin", "subtract"}},
      {"atan", {"atan2"}},
      {"sinh", {"exp", "reciprocal", "subtract", "multiply"}},
      {"cosh", {"exp", "reciprocal", "add", "multiply"}},
      {"asinh", {"square", "add", "sqrt", "add", "log"}},
      {"acosh", {"square", "subtract", "sqrt", "add", "log"}},
      {"atanh", {"add", "subtract", "divide", "log", "multiply"}},
      {"tan_gradient", {"square", "add", "multiply"}},
      {"asin_gradient", {"square", "subtract", "rsqrt", "multiply"}},
      {"acos_gradient", {"square", "subtract", "rsqrt", "multiply", "negate"}},
      {"atan_gradient", {"square", "add", "divide"}},
      {"sinh_gradient", {"exp", "reciprocal", "add", "multiply", "multiply"}},
      {"cosh_gradient", {"exp", "reciprocal", "subtract", "multiply", "multiply"}},
      {"asinh_gradient", {"square", "add", "rsqrt", "multiply"}},
      {"acosh_gradient", {"square", "subtract", "rsqrt", "multiply"}},
      {"atanh_gradient", {"square", "subtract", "divide"}},
      {"reciprocal_gradient", {"square", "multiply", "negate"}},
      {"tanh_gradient", {"square", "subtract", "multiply"}},
      {"sigmoid_gradient", {"subtract", "multiply", "multiply"}},
      {"erf_gradient", {"square", "exp", "multiply", "multiply"}},
      {"gelu_gradient", {"erf", "square", "exp", "multiply", "add", "multiply"}},
      {"elu", {"expm1", "multiply", "select"}},
      {"elu_gradient", {"exp", "multiply", "multiply", "select"}},
      {"celu", {"divide", "expm1", "multiply", "select"}},
      {"celu_gradient", {"divide", "exp", "multiply", "select"}},
      {"selu", {"expm1", "multiply", "multiply", "select"}},
      {"selu_gradient", {"exp", "multiply", "multiply", "multiply", "select"}},
      {"softplus", {"exp", "add", "log"}},
      {"softplus_gradient", {"sigmoid", "multiply"}},
      {"softsign", {"abs", "add", "divide"}},
      {"softsign_gradient", {"abs", "add", "square", "divide"}},
      {"leaky_relu", {"multiply", "select"}},
      {"leaky_relu_gradient", {"multiply", "select"}},
      {"prelu", {"multiply", "select"}},
      {"prelu_gradient", {"multiply", "multiply", "select"}},
      {"thresholded_relu", {"greater", "multiply"}},
      {"thresholded_relu_gradient", {"greater", "multiply"}},
      {"shrink", {"add", "greater", "select"}},
      {"hard_sigmoid", {"multiply", "add", "maximum", "minimum"}},
      {"hard_sigmoid_gradient", {"multiply", "add", "greater", "less", "multiply"}},
      {"hard_swish", {"multiply", "add", "maximum", "minimum", "multiply"}},
      {"hard_swish_gradient", {"multiply", "add", "maximum", "minimum", "multiply", "add"}},
      {"square_scaled_add", {"square", "scaled_add"}},
      {"quantize", {"divide", "round", "maximum", "minimum", "cast"}},
      {"dequantize", {"cast", "subtract", "multiply"}},
      {"complex_multiply_add", {"multiply", "scaled_add", "multiply", "scaled_add"}},
      {"adam", {"scaled_add", "square", "scaled_add", "sqrt", "add", "divide", "scaled_add"}},
      {"adamw", {"multiply", "scaled_add", "square", "scaled_add", "sqrt", "add", "divide", "scaled_add"}},
  };
  return list;
}

/// A loop that is not written in assembly: 5 cycles more per vector than an addition (C: PopLibs' generic
/// loops; R that it is one).
constexpr VertexRow kOther = {"", {8, 2}, {8, 4}, {}, {}, {12, 1}};

const VertexRow* vertexOf(const std::string& name) {
  for (const VertexRow& row : kVertices) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

bool isWhole(ElementType type) {
  return type >= ElementType::int8 && type <= ElementType::uint64;
}

Pace paceOf(const VertexRow& row, ElementType type, bool inPlace) {
  if (isWhole(type)) return row.whole.cycles > 0 ? row.whole : row.single;
  const bool half = isHalf(type);
  const Pace own = half ? row.halfInPlace : row.singleInPlace;
  return inPlace && own.cycles > 0 ? own : half ? row.half : row.single;
}

/// Sums and extremes of more than two operands take them in one by one; other functions read all they have at
/// once.
bool takesPairs(const std::string& function) {
  for (const char* known : {"add", "multiply", "maximum", "minimum", "max", "min"}) {
    if (function == known) return true;
  }
  return false;
}

}  // namespace

MapPace mapPace(const std::string& function, ElementType type, bool inPlace) {
  if (const VertexRow* row = vertexOf(function)) return {paceOf(*row, type, inPlace), 'C', 1};
  for (const MadeOf& made : madeOf()) {
    if (function != made.name) continue;
    // Steps of the parts' loops differ in length: four elements are whole steps of all.
    MapPace sum{{0, 4}, 'X', 0};
    for (const char* part : made.parts) {
      sum.pace.cycles += mapPace(part, type, true).pace.cyclesFor(4);
      ++sum.parts;
    }
    return sum;
  }
  return {paceOf(kOther, type, inPlace), 'R', 1};
}

std::int64_t mapCycles(const Chip& chip, const ops::Map& work, std::int64_t elements) {
  const bool half = isHalf(work.type);
  const std::int64_t each = ceilDiv(elements, chip.workers);
  const Pace pace = mapPace(work.function, work.type, work.inPlace).pace;
  const std::int64_t inner = ceilDiv(ceilDiv(elements, pace.elements), chip.workers) * pace.cycles;
  if (work.function == "scaled_add") {
    return 50 +
           chip.workers * (21 + 3 * ceilDiv(ceilDiv(elements, chip.vectorWidth(work.type)), chip.workers));
  }
  // A vertex over two axes, of which workers take rows (C).
  if (work.function == "select") return 11 + chip.workers * (11 + each * pace.cycles);
  std::int64_t start = work.function == "exp" ? 33 : 17;
  if (work.function == "cast") start = 37;
  if (work.function == "fill") start = 26;
  if (work.operands > 1) start = half ? 26 : 29;
  if (work.operands > 1 && work.inPlace) start = half ? 55 : 58;
  const std::int64_t passes = takesPairs(work.function) ? std::max<std::int64_t>(1, work.operands - 1) : 1;
  return 11 + chip.workers * passes * (start + inner);
}

}  // namespace pipescope::devices::ipu
