// Writes or adds rows by index, on TPCs. Rows that are added to are read first.
#include "engine/devices/gaudi/gathering.h"
#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lower(const ops::Scatter& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.rows, work.rowElements}, context));
  const std::int64_t elements = work.rows * work.rowElements;
  EngineKernel kernel = tpcKernel(context.card, "Scatter", elements, work.type, work.accumulate ? 4 : 2);
  const std::int64_t bytes = elements * graph::sizeOf(work.type);
  kernel.wastedBytes = wastedOf(context.card, work.rowElements * graph::sizeOf(work.type), 2 * bytes);
  if (work.accumulate) kernel.againBytes = bytes;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
