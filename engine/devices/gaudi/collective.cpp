// Collectives among cards, on the NIC lane. fabric.h computes their time.
#include <fmt/format.h>

#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

base::Result<EngineKernel> lower(const ops::Collective& work, const GaudiLoweringContext& context) {
  using Kind = ops::Collective::Kind;
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  static constexpr const char* names[] = {"AllReduce", "ReduceScatter", "AllGather", "Broadcast"};
  const std::vector<int> group = context.mesh.group(context.device, work.axis, work.group);
  EngineKernel kernel;
  kernel.engine = Engine::network;
  kernel.name = names[static_cast<std::size_t>(work.kind)];
  const std::int64_t bytes = work.elements * graph::sizeOf(work.type);
  kernel.arithmetic = context.fabric.collectiveSeconds(work.kind, static_cast<double>(bytes), group);
  const auto cards = static_cast<std::int64_t>(group.size());
  if (cards > 1) {
    const std::int64_t phases = work.kind == Kind::allReduce || work.kind == Kind::broadcast ? 2 : 1;
    kernel.bytesIn = kernel.bytesOut = phases * (cards - 1) * bytes / cards;
  }
  return kernel;
}

}  // namespace pipescope::devices::gaudi
