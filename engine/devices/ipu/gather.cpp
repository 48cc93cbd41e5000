// Rows picked from a table: every tile looks through all indices for those in its part. (Cycles: PopLibs
// popops, C.)
#include <algorithm>

#include "engine/devices/ipu/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/rounding.h"
#include "engine/devices/ipu/slices.h"

namespace pipescope::devices::ipu {

base::Result<LoweredWork> lower(const ops::Gather& work, const LoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of gathered elements", {work.rows, work.rowElements}, context));
  PIPESCOPE_TRY(checkElements("number of table elements", {work.tableRows, work.rowElements}, context));
  const Chip& chip = context.chip;
  const std::int64_t bytes = graph::sizeOf(work.type);
  const SlicePlan plan = planSlices(chip, work.rowElements, work.tableRows, bytes);
  // Indices fall evenly on the parts of the table.
  const std::int64_t inRange = ceilDiv(work.rows, plan.tableParts), outOfRange = work.rows - inRange;
  const std::int64_t vectors = ceilDiv(plan.columns, chip.vectorWidth(work.type));
  const std::int64_t indices = ceilDiv(inRange, chip.workers), others = ceilDiv(outOfRange, chip.workers);
  const std::int64_t cycles = chip.workers * (30 + 19 * indices + 2 * vectors * indices + 8 * others);
  LoweredWork lowered;
  lowered.exchange(chip, "Indices/Exchange", {{0, plan.tiles(), work.rows * 4}}, chip.exchangePairFactor,
                   128);
  lowered.compute(chip, "MultiSlice", {{0, plan.tiles(), cycles}},
                  {isHalf(work.type) ? "popops::MultiSlice<half>" : "popops::MultiSlice<float>",
                   kCodeMultiSlice, kStateSimple, 0});
  if (plan.tableParts > 1) {
    const std::int64_t received = ceilDiv(work.rows * work.rowElements, chip.tiles) * bytes;
    lowered.exchange(chip, "Slices/Exchange", {{0, chip.tiles, received}}, 1, plan.columns * bytes);
  }
  lowered.hold("Indices", {{0, plan.tiles(), work.rows * 4}}, 0, lowered.steps.size());
  lowered.hold("Slices", {{0, plan.tiles(), inRange * plan.columns * bytes}}, 0, lowered.steps.size());
  return lowered;
}

}  // namespace pipescope::devices::ipu
