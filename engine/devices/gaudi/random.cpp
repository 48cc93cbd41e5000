// Random numbers on TPCs: a counter-based generator takes about ten instructions for each vector of float32
// (R).
#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lower(const ops::Random& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  const double wide = graph::sizeOf(work.type) < 4 ? 2 : 1;
  EngineKernel kernel = tpcKernel(context.card, "Random", work.elements, work.type, 10 * wide);
  kernel.elementwise = true;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
