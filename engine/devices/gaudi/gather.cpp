// Picks rows by index, on TPCs.
#include "engine/devices/gaudi/gathering.h"
#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<Kernel> lower(const ops::Gather& work, const LoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.rows, work.rowElements}, context));
  Kernel kernel = tpcKernel(context.card, "Gather", work.rows * work.rowElements, work.type, 2);
  kernel.spread = randomAccess(context.card, work.rowElements * graph::sizeOf(work.type));
  return kernel;
}

}  // namespace pipescope::devices::gaudi
