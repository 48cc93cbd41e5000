// Adds or writes rows into a table by index. (Cycles: PopLibs popops, C.)
#include <algorithm>

#include "engine/devices/ipu/code/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/reduce_cost.h"
#include "engine/devices/ipu/table_slices.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;

base::Result<LoweredWork> lower(const ops::Scatter& work, const IpuLoweringContext& context) {
  if (work.accumulate) PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of scattered elements", {work.rows, work.rowElements}, context));
  PIPESCOPE_TRY(checkElements("number of table elements", {work.tableRows, work.rowElements}, context));
  const Chip& chip = context.chip;
  const std::int64_t bytes = graph::sizeOf(work.type);
  const TileSlices plan = planSlices(chip, work.rows, work.rowElements, work.tableRows, bytes);
  const std::int64_t vectors = ceilDiv(plan.columns, chip.vectorWidth(work.type));
  const std::int64_t received = plan.rows * (4 + plan.columns * bytes), sums = plan.tableRows * plan.columns;
  const bool half = isHalf(work.type);
  LoweredWork lowered;
  const auto on = [&](std::int64_t value) { return TileRuns{{0, plan.tiles(), value}}; };
  // The rows lie as gathered ones do, over the tiles that share their columns.
  const std::int64_t senders = plan.tableParts * plan.rowParts;
  lowered.exchange(chip, "Rows/Exchange", on(received), 1, ceilDiv(received, senders),
                   on(ceilDiv(received, plan.tableParts)));
  const std::size_t update =
      lowered.compute(chip, work.accumulate ? "MultiUpdateAdd" : "MultiUpdate",
                      on(scatterCycles(chip, plan.rows, vectors, work.accumulate)),
                      {half ? "popops::MultiUpdateAdd<half>" : "popops::MultiUpdateAdd<float>",
                       kCodeMultiUpdate, kStateSimple, 0});
  lowered.hold("Rows", on(received), 0, update + 1);
  if (plan.rowParts > 1) {
    // Each part of the rows is added into a table of its own. Then each tile adds up its share of these
    // tables.
    const std::int64_t share = ceilDiv(sums, plan.rowParts);
    lowered.exchange(chip, "Reduce/Exchange", on(share * (plan.rowParts - 1) * bytes), 1, share * bytes);
    lowered.compute(chip, "Reduce", on(reduceCycles(chip, {plan.rowParts, share}, half, half)),
                    {"popops::Reduce<add>", kCodeReduceAdd, kStateReduce, 4 * plan.rowParts});
    lowered.hold("Sums", on(sums * bytes), update, lowered.steps.size(), Temporary::Place::ownElement);
    lowered.hold("Arriving", on(share * plan.rowParts * bytes), update + 1, lowered.steps.size());
  }
  return lowered;
}

}  // namespace pipescope::devices::ipu
