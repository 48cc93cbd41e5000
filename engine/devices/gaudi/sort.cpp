// Sorts on TPCs with a bitonic network: log₂n·(log₂n + 1)/2 rounds of compare and exchange.
#include <algorithm>
#include <cmath>

#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lower(const ops::Sort& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.rows, work.rowElements}, context));
  const double levels =
      std::ceil(std::log2(static_cast<double>(std::max<std::int64_t>(2, work.rowElements))));
  const double rounds = levels * (levels + 1) / 2;
  EngineKernel kernel = tpcKernel(context.card, "Sort", work.rows * work.rowElements, work.type, 4 * rounds);
  const std::int64_t bytes = work.rows * work.rowElements * graph::sizeOf(work.type);
  // Rows that do not fit into local memory are merged through SRAM, one round at a time.
  if (work.rowElements * graph::sizeOf(work.type) > context.card.localBytes)
    kernel.onChipBytes = bytes * static_cast<std::int64_t>(levels);
  kernel.workspace = 2 * bytes;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
