// Elementwise work on every tile that has elements.
#include <string>

#include "engine/devices/ipu/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/map_cost.h"

namespace pipescope::devices::ipu {
namespace {

bool isNonLinearity(const std::string& name) {
  for (const char* known : {"relu", "relu_gradient", "tanh", "sigmoid", "gelu", "gelu_gradient"}) {
    if (name == known) return true;
  }
  return false;
}

std::int64_t mapCodeBytes(const std::string& name) {
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

std::string mapTitleOf(std::string function) {
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
  lowered.compute(chip, mapTitleOf(work.function),
                  transformed(elements, [&](std::int64_t n) { return mapCycles(chip, work, n); }),
                  {vertexType(work), mapCodeBytes(work.function), kStateSimple, 0});
  return lowered;
}

}  // namespace pipescope::devices::ipu
