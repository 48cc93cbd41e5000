// Collectives need replicas, which a lowered device does not know of.
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

base::Result<LoweredWork> lower(const ops::Collective&, const LoweringContext& context) {
  return base::refused(
      context.what +
      ": collectives between replicas are not modelled on IPUs; use a replication factor of 1.");
}

}  // namespace pipescope::devices::ipu
