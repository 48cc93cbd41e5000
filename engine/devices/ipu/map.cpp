// Elementwise work runs on every tile that holds elements.
#include <string>

#include "engine/devices/core/titles.h"
#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/map_cost.h"

namespace pipescope::devices::ipu {
namespace {

using ops::MapFunction;

bool isNonLinearity(MapFunction function) {
  using enum MapFunction;
  return function == relu || function == reluGradient || function == tanh || function == sigmoid ||
         function == gelu || function == geluGradient;
}

std::int64_t codeBytesOf(MapFunction function) {
  using enum MapFunction;
  if (function == gelu || function == geluGradient) return kCodeGelu;
  if (function == scaledAdd || function == adam) return kCodeScaledAdd;
  if (function == cast) return kCodeCast;
  if (function == fill) return kCodeFill;
  return isNonLinearity(function) ? kCodeNonLinearity : kCodeElementwise;
}

std::string vertexType(const ops::Map& work) {
  const std::string type = isHalf(work.type) ? "half" : "float";
  const std::string suffix = work.inPlace ? "InPlace" : "";
  const MapFunction function =
      work.function == MapFunction::normalise ? MapFunction::multiply : work.function;
  const std::string arguments = suffix + "<" + toString(function) + "," + type + ">";
  if (isNonLinearity(work.function)) return "popnn::NonLinearity1D" + arguments;
  return (work.operands > 1 ? "popops::BinaryOp1D" : "popops::UnaryOp1D") + arguments;
}

}  // namespace

base::Result<LoweredWork> lower(const ops::Map& work, const IpuLoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  PIPESCOPE_TRY(checkElements("number of operands", {work.operands}, context));
  const Chip& chip = context.chip;
  LoweredWork lowered;
  const TileRuns elements = spreadEvenly(chip, work.elements, graph::sizeOf(work.type));
  lowered.compute(chip, titleOf(work.function),
                  transformed(elements, [&](std::int64_t n) { return mapCycles(chip, work, n); }),
                  {vertexType(work), codeBytesOf(work.function),
                   stateOfEdges(work.operands + (work.inPlace ? 0 : 1)), 0});
  return lowered;
}

}  // namespace pipescope::devices::ipu
