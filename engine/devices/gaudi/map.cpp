// Elementwise work on TPCs: each function takes a number of vector instructions for each vector.
#include <algorithm>

#include "engine/devices/core/titles.h"
#include "engine/devices/gaudi/kernel.h"
#include "engine/devices/hbm_card/map_instructions.h"

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lower(const ops::Map& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkComputes(work.type, context));
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  PIPESCOPE_TRY(checkElements("number of operands", {work.operands}, context));
  const hbm_card::MapInstructions row = hbm_card::instructionsOf(work.function);
  const double wide = row.wide && graph::sizeOf(work.type) < 4 ? 2 : 1;
  // Operands beyond the second are taken in one by one.
  const auto more = static_cast<double>(std::max<std::int64_t>(0, work.operands - 2));
  EngineKernel kernel = tpcKernel(context.card, titleOf(work.function), work.elements, work.type,
                                  row.instructions * wide + more);
  kernel.elementwise = true;
  return kernel;
}

}  // namespace pipescope::devices::gaudi
