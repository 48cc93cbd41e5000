// Collectives among cards, on the NIC lane. fabric.h computes their time.
#include <fmt/format.h>

#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lower(const ops::Collective& work, const GaudiLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  const std::vector<int> group = context.mesh.group(context.device, work);
  EngineKernel kernel;
  kernel.engine = Engine::network;
  kernel.name = ops::toString(work.kind);
  const std::int64_t bytes = work.elements * graph::sizeOf(work.type);
  kernel.arithmetic = context.fabric.collectiveTime(work, group).total;
  const auto cards = static_cast<std::int64_t>(group.size());
  kernel.bytesIn = kernel.bytesOut = ops::sentBytes(work.kind, bytes, cards);
  return kernel;
}

}  // namespace pipescope::devices::gaudi
