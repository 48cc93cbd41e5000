// Moves without arithmetic: an exchange, then copies on each tile. Smaller pieces cost more. (Regression of
// PopLibs' planner, C.)
#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/products/plan_cost.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;

base::Result<LoweredWork> lower(const ops::Rearrange& work, const IpuLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  PIPESCOPE_TRY(checkElements("length of a run", {work.runElements}, context));
  const Chip& chip = context.chip;
  const std::int64_t element = graph::sizeOf(work.type), run = work.runElements * element;
  LoweredWork lowered;
  const TileRuns bytes =
      transformed(spreadEvenly(chip, work.elements, element), [&](std::int64_t n) { return n * element; });
  if (work.runElements >= work.elements) {
    // All elements stay together: a copy between tensors with the same layout, 64 bits a cycle (X).
    const auto cycles = [&](std::int64_t n) { return ceilDiv(n, chip.vectorBytes); };
    lowered.compute(chip, "OnTileCopy", transformed(bytes, cycles),
                    {"popops::OnTileCopy", kCodeCopy, stateOfEdges(2), 0});
    return lowered;
  }
  lowered.exchange(chip, "Rearrange/Exchange", bytes, 1, run);
  lowered.compute(chip, "Rearrange/OnTileCopy",
                  transformed(bytes, [&](std::int64_t n) { return arrangeCycles(n, run); }),
                  {"popops::OnTileCopy", kCodeCopy, kStateSimple, 0});
  lowered.hold("Rearrange", bytes, 0, lowered.steps.size());
  return lowered;
}

}  // namespace pipescope::devices::ipu
