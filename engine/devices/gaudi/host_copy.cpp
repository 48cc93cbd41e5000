// Copies between host and card over PCIe.
#include "engine/devices/hbm_card/host_copy.h"

#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lower(const ops::HostCopy& work, const GaudiLoweringContext& context) {
  return hbm_card::lowerHostCopy(work, context.card, context.what);
}

}  // namespace pipescope::devices::gaudi
