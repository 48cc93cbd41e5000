// Collectives between replicas: a ring over the links of the ladder, in which all tiles take part (ring.h).
#include <set>

#include "engine/devices/ipu/lowered_work.h"
#include "engine/devices/ipu/ring.h"

namespace pipescope::devices::ipu {
namespace {

const char* nameOf(ops::Collective::Kind kind) {
  switch (kind) {
    case ops::Collective::Kind::allReduce:
      return "AllReduce";
    case ops::Collective::Kind::reduceScatter:
      return "ReduceScatter";
    case ops::Collective::Kind::allGather:
      return "AllGather";
    case ops::Collective::Kind::broadcast:
      return "Broadcast";
  }
  return "Collective";
}

/// The groups that communicate at the same time: the same place of other groups of replicas, and other places
/// too if the devices of a replica do not wait for each other.
std::vector<std::vector<int>> collectiveGroupsOf(const ops::Collective& work,
                                                 const LoweringContext& context) {
  const compile::Replication& replication = context.replication;
  const auto size = static_cast<int>(work.group);
  std::set<std::vector<int>> groups;
  if (work.group == 0) {
    for (int place = 0; place < replication.devicesPerReplica; ++place) {
      if (replication.atOnce || place == context.device % replication.devicesPerReplica)
        groups.insert(replication.group(place, 0));
    }
    return {groups.begin(), groups.end()};
  }
  const int place = context.device % replication.devicesPerReplica;
  for (int replica = 0; replica < replication.replicas; replica += size)
    groups.insert(replication.group(replica * replication.devicesPerReplica + place, size));
  return {groups.begin(), groups.end()};
}

}  // namespace

base::Result<LoweredWork> lower(const ops::Collective& work, const LoweringContext& context) {
  PIPESCOPE_TRY(checkElements("number of elements", {work.elements}, context));
  const std::vector<std::vector<int>> groups = collectiveGroupsOf(work, context);
  const std::int64_t bytes = work.elements * graph::sizeOf(work.type);
  const double seconds = context.ladder ? collectiveSeconds(*context.ladder, work.kind, bytes, groups) : 0;
  LoweredWork lowered;
  if (seconds <= 0) return lowered;
  const auto n = static_cast<std::int64_t>(groups.front().size());
  const std::int64_t steps = (work.kind == ops::Collective::Kind::allReduce ? 2 : 1) * (n - 1);
  ProgramStep step;
  step.kind = model::StepKind::globalExchange;
  step.program = "GlobalExchange";
  step.name = nameOf(work.kind);
  step.cycles = {{0, context.chip.tiles, base::ticksFromSeconds(seconds, context.chip.timebase()).count}};
  step.bytesIn = step.bytesOut = steps * ((bytes + n - 1) / n);
  step.messages = steps;
  lowered.steps.push_back(std::move(step));
  return lowered;
}

}  // namespace pipescope::devices::ipu
