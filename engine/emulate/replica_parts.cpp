#include "engine/emulate/replica_parts.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace pipescope::emulate {
namespace {

/// What makes replicas alike.
using Signature = std::pair<std::vector<double>, std::vector<std::int64_t>>;

Signature signatureOf(const devices::System& system, const compile::ExecutablePlan& plan,
                      const ExecutableFacts& facts, int firstDevice) {
  Signature signature;
  for (int d = 0; d < plan.replication.devicesPerReplica; ++d) {
    const DeviceScale scale = scaleOf(facts, firstDevice + d);
    signature.first.push_back(scale.compute);
    signature.first.push_back(scale.link);
  }
  std::vector<devices::Flow> flows;
  for (const compile::BoundaryTensor& tensor : plan.boundaries) {
    const int from = plan.stages[static_cast<std::size_t>(tensor.fromStage)].device,
              to = plan.stages[static_cast<std::size_t>(tensor.toStage)].device;
    if (from == to) continue;
    flows.push_back({firstDevice + from, firstDevice + to, tensor.type.bytes()});
    signature.second.push_back(system.transferTicks({flows.back()}).front().count);
  }
  for (const Ticks ticks : flows.empty() ? std::vector<Ticks>() : system.transferTicks(flows))
    signature.second.push_back(ticks.count);
  return signature;
}

bool isScaled(model::Pass pass) {
  return pass != model::Pass::hostIn && pass != model::Pass::hostOut && pass != model::Pass::remote;
}

/// Steps keep following each other without gap.
void slowDown(devices::LoweredSegment& segment, double slowdown) {
  segment.ticks = slower(segment.ticks, slowdown);
  for (devices::LoweredStep& step : segment.steps) {
    const Ticks end = slower(step.offset + step.ticks, slowdown);
    step.offset = slower(step.offset, slowdown);
    step.ticks = step.maxTicks = end - step.offset;
    step.minTicks = std::min(slower(step.minTicks, slowdown), step.ticks);
    step.meanTicks *= slowdown;
    for (devices::UnitTicks& unit : step.units) unit.ticks = std::min(slower(unit.ticks, slowdown), step.ticks);
  }
}

}  // namespace

Ticks slower(Ticks ticks, double slowdown) {
  if (slowdown == 1) return ticks;
  return Ticks(static_cast<std::int64_t>(std::ceil(static_cast<double>(ticks.count) * slowdown)));
}

DeviceScale scaleOf(const ExecutableFacts& facts, int device) {
  for (const DeviceScale& scale : facts.scales) {
    if (scale.device == device) return scale;
  }
  return {device, 1, 1};
}

std::vector<ReplicaClass> replicaClasses(const devices::System& system, const compile::ExecutablePlan& plan,
                                         const ExecutableFacts& facts) {
  if (plan.replication.replicas == 1) return {{0, 1}};
  std::vector<ReplicaClass> classes;
  std::map<Signature, std::size_t> known;
  for (int replica = 0; replica < plan.replication.replicas; ++replica) {
    if (!facts.recordAllReplicas) {
      const int firstDevice = replica * plan.replication.devicesPerReplica;
      const auto [found, added] =
          known.try_emplace(signatureOf(system, plan, facts, firstDevice), classes.size());
      if (!added) {
        ++classes[found->second].members;
        continue;
      }
    }
    classes.push_back({replica, 1});
  }
  return classes;
}

devices::LoweredDevice onReplica(const devices::LoweredDevice& first, int replica,
                                 const compile::Replication& replication, const ExecutableFacts& facts) {
  devices::LoweredDevice own = first;
  own.device = replica * replication.devicesPerReplica + first.device;
  if (facts.scales.empty()) return own;
  const double compute = scaleOf(facts, own.device).compute;
  double link = scaleOf(facts, own.device).link;
  for (const int device : replication.group(first.device, 0)) link = std::min(link, scaleOf(facts, device).link);
  for (devices::LoweredPass& pass : own.passes) {
    for (devices::LoweredSegment& segment : pass.segments) {
      const model::Pass kind = segment.pass.value_or(pass.pass);
      if (!isScaled(kind)) continue;
      slowDown(segment, 1 / (kind == model::Pass::collective ? link : compute));
    }
  }
  return own;
}

}  // namespace pipescope::emulate
