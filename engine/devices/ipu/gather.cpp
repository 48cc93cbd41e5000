// Picks rows from a table. Each tile looks through the indices for rows in its part of the table. (Cycles:
// PopLibs popops, C.)
#include <algorithm>

#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/table_slices.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;

base::Result<LoweredWork> lower(const ops::Gather& work, const IpuLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of gathered elements", {work.rows, work.rowElements}, context));
  PIPESCOPE_TRY(checkElements("number of table elements", {work.tableRows, work.rowElements}, context));
  const Chip& chip = context.chip;
  const std::int64_t bytes = graph::sizeOf(work.type);
  const TileSlices plan = planSlices(chip, work.rows, work.rowElements, work.tableRows, bytes);
  // The model assumes that indices are spread evenly over the parts of the table.
  const std::int64_t inRange = ceilDiv(plan.rows, plan.tableParts);
  const std::int64_t vectors = ceilDiv(plan.columns, chip.vectorWidth(work.type));
  const std::int64_t slices = plan.rows * plan.columns * bytes, copy = plan.tableBytes(bytes);
  const LoweredVertex vertex{isHalf(work.type) ? "popops::MultiSlice<half>" : "popops::MultiSlice<float>",
                             kCodeMultiSlice, kStateSimple, 0};
  LoweredWork lowered;
  const auto on = [&](std::int64_t value) { return TileRuns{{0, plan.tiles(), value}}; };
  lowered.exchange(chip, "Indices/Exchange", on(plan.rows * 4), chip.exchangePairFactor, 128,
                   on(ceilDiv(plan.rows * 4 * plan.rowParts, plan.tiles())));
  if (plan.rowParts > 1)
    lowered.exchange(chip, "Table/Exchange", on(copy), 1, copy, on(ceilDiv(copy, plan.rowParts)));
  const std::size_t slice =
      lowered.compute(chip, "MultiSlice", on(gatherCycles(chip, plan.rows, inRange, vectors)), vertex);
  if (plan.tableParts > 1) {
    // The tiles of each column combine the rows from all parts of the table: each picks its share of the
    // rows.
    lowered.exchange(chip, "Slices/Exchange", on(slices), 1, ceilDiv(slices, plan.tableParts));
    lowered.compute(chip, "MultiSlice/Combine", on(gatherCycles(chip, inRange, inRange, vectors)), vertex);
    lowered.hold("Parts", on(slices), slice + 1, lowered.steps.size());
  }
  lowered.hold("Indices", on(plan.rows * 4), 0, lowered.steps.size());
  if (plan.rowParts > 1) lowered.hold("Table", on(copy), 0, slice + 1);
  lowered.hold("Slices", on(slices), slice, lowered.steps.size());
  return lowered;
}

}  // namespace pipescope::devices::ipu
