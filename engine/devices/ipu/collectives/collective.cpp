// Collectives between replicas: rings over the links of the ladder (ring.h), in which all tiles take part. An
// exchange follows a sync of all devices. Around it, tiles copy the fragment that is sent into a buffer, and
// add what arrives to their own, or keep it (C: PopLibs, popops/ReplicatedCollectives.cpp).
#include <algorithm>
#include <map>

#include "engine/devices/ipu/collectives/ring.h"
#include "engine/devices/ipu/lowered_work.h"
#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

/// Bytes that the place sends while the own one sends all its bytes, divided by these. A place with fewer
/// bytes is done before. A place with more sends the rest later.
double shareOf(const compile::Mesh& mesh, int place, int own) {
  const std::vector<std::int64_t>& bytes = mesh.ringBytes;
  if (bytes.empty()) return 1;
  const auto bytesOf = [&](int at) { return static_cast<double>(bytes[static_cast<std::size_t>(at)]); };
  return bytesOf(place) < bytesOf(own) ? bytesOf(place) / bytesOf(own) : 1;
}

/// The groups that communicate at the same time: the same place of other groups of replicas, and other places
/// too if the places of a replica do not wait for each other.
std::vector<RingGroup> collectiveGroupsOf(const ops::Collective& work, const IpuLoweringContext& context) {
  const compile::Mesh& mesh = context.mesh;
  const auto size = static_cast<int>(work.group);
  const int own = mesh.placeOf(context.device);
  std::map<std::vector<int>, double> groups;  // shares by devices
  if (work.group == 0) {
    for (int place = 0; place < mesh.places; ++place) {
      if (!mesh.atOnce && place != own) continue;
      for (int rank = 0; rank < mesh.width; ++rank) {
        double& share = groups.try_emplace(mesh.group(mesh.chip(0, place, rank), work), 0).first->second;
        share = std::max(share, shareOf(mesh, place, own));
      }
    }
  } else {
    for (int replica = 0; replica < mesh.replicas; replica += size)
      groups[mesh.group(mesh.chip(replica, own), work)] = 1;
  }
  std::vector<RingGroup> list;
  for (const auto& [devices, share] : groups) list.push_back({devices, share});
  return list;
}

/// Makes the steps of one phase. Those of equal exchanges become one step that is so much longer.
class PhaseLowering {
 public:
  PhaseLowering(const CollectivePhase& phase, ElementType type, const IpuLoweringContext& context)
      : phase_(phase), type_(type), context_(context) {}

  base::Status addTo(LoweredWork& lowered) const {
    const std::size_t first = lowered.steps.size();
    PIPESCOPE_TRY(onTiles(ops::MapFunction::copy, "Slice", lowered));
    addExchange(lowered);
    if (phase_.reduces) {
      PIPESCOPE_TRY(onTiles(ops::MapFunction::add, "Reduce", lowered));
    } else {
      PIPESCOPE_TRY(onTiles(ops::MapFunction::copy, "Keep", lowered));
    }
    // Buffers hold what is sent, and what arrives.
    lowered.hold(phase_.name + "/Buffers",
                 spreadEvenly(context_.chip, 2 * phase_.directions * phase_.fragmentBytes, 1), first,
                 lowered.steps.size());
    return {};
  }

 private:
  base::Status onTiles(ops::MapFunction function, const char* name, LoweredWork& lowered) const {
    const std::int64_t elements = phase_.directions * ceilDiv(phase_.fragmentBytes, graph::sizeOf(type_)),
                       operands = function == ops::MapFunction::add ? 2 : 1;
    PIPESCOPE_ASSIGN(LoweredWork once,
                     lowerWork(ops::Map{function, elements, operands, type_, operands == 2}, context_));
    for (ProgramStep& step : once.steps) {
      step.name = phase_.name + "/" + name;
      step.cycles =
          transformed(std::move(step.cycles), [&](std::int64_t cycles) { return cycles * phase_.exchanges; });
      step.sync *= phase_.exchanges;
      lowered.steps.push_back(std::move(step));
    }
    return {};
  }

  void addExchange(LoweredWork& lowered) const {
    const auto ticks = [&](double seconds) {
      return base::ticksFromSeconds(seconds, context_.chip.timebase()).count;
    };
    const compile::Mesh& mesh = context_.mesh;
    const auto count = static_cast<double>(phase_.exchanges);
    ProgramStep step;
    step.kind = model::StepKind::globalExchange;
    step.program = "GlobalExchange";
    step.name = phase_.name + "/Exchange";
    step.cycles = {{0, context_.chip.tiles, ticks(phase_.seconds * count)}};
    const int chips = mesh.chips();
    step.sync =
        ticks((syncSeconds(context_.chip, chips) + context_.ladder->gatewaySyncSeconds(chips)) * count);
    step.bytesIn = step.bytesOut = phase_.bytesSent();
    step.messages = phase_.directions;
    lowered.steps.push_back(std::move(step));
  }

  const CollectivePhase& phase_;
  ElementType type_;
  const IpuLoweringContext& context_;
};

}  // namespace

base::Result<LoweredWork> lower(const ops::Collective& work, const IpuLoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  LoweredWork lowered;
  if (context.ladder == nullptr) return lowered;
  for (const CollectivePhase& phase :
       collectivePhases(*context.ladder, work.kind, work.elements * graph::sizeOf(work.type),
                        collectiveGroupsOf(work, context), context.mesh.places > 1))
    PIPESCOPE_TRY(PhaseLowering(phase, work.type, context).addTo(lowered));
  return lowered;
}

}  // namespace pipescope::devices::ipu
