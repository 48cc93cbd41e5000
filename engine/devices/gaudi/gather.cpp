// Picks rows by index, on TPCs. It reads only those rows of the table that it picks.
#include "engine/devices/gaudi/gathering.h"
#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lower(const ops::Gather& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.rows, work.rowElements}, context));
  EngineKernel kernel = tpcKernel(context.card, "Gather", work.rows * work.rowElements, work.type, 2);
  const std::int64_t size = graph::sizeOf(work.type);
  kernel.tableBytes = work.tableRows * work.rowElements * size;
  kernel.pickedBytes = work.rows * work.rowElements * size;
  kernel.wastedBytes = wastedOf(context.card, work.rowElements * size, 2 * kernel.pickedBytes);
  return kernel;
}

}  // namespace pipescope::devices::gaudi
