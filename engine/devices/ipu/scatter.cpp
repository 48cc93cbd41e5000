// Rows added or written into a table by index. (Cycles: PopLibs popops, C.)
#include <algorithm>

#include "engine/devices/ipu/code_sizes.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/rounding.h"
#include "engine/devices/ipu/slices.h"

namespace pipescope::devices::ipu {

base::Result<LoweredWork> lower(const ops::Scatter& work, const LoweringContext& context) {
  if (work.accumulate) PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of scattered elements", {work.rows, work.rowElements}, context));
  PIPESCOPE_TRY(checkElements("number of table elements", {work.tableRows, work.rowElements}, context));
  const Chip& chip = context.chip;
  const std::int64_t bytes = graph::sizeOf(work.type);
  const SlicePlan plan = planSlices(chip, work.rowElements, work.tableRows, bytes);
  // The rows are dealt to the tiles that hold their part of the table; several rows may be the same, so one
  // worker adds to a row and workers share its columns.
  const std::int64_t inRange = ceilDiv(work.rows, plan.tableParts);
  const std::int64_t atoms = ceilDiv(ceilDiv(plan.columns, chip.vectorWidth(work.type)), chip.workers);
  const std::int64_t perIndex = work.accumulate ? 12 + 3 * atoms : 12 + 2 * atoms;
  LoweredWork lowered;
  const std::int64_t received = work.rows * 4 + inRange * plan.columns * bytes;
  lowered.exchange(chip, "Rows/Exchange", {{0, plan.tiles(), received}}, 1, plan.columns * bytes);
  lowered.compute(chip, work.accumulate ? "MultiUpdateAdd" : "MultiUpdate",
                  {{0, plan.tiles(), chip.workers * (33 + perIndex * inRange)}},
                  {isHalf(work.type) ? "popops::MultiUpdateAdd<half>" : "popops::MultiUpdateAdd<float>",
                   kCodeMultiUpdate, kStateSimple, 0});
  lowered.hold("Rows", {{0, plan.tiles(), received}}, 0, lowered.steps.size());
  return lowered;
}

}  // namespace pipescope::devices::ipu
