#include "engine/emulate/replica_parts.h"

#include <algorithm>
#include <map>

#include "engine/emulate/link_contention.h"
#include "engine/emulate/link_uses.h"

namespace pipescope::emulate {
namespace {

/// Scales of the chips of a replica; empty: all are 1.
std::vector<double> scalesOf(const compile::ExecutableIr& ir, const ExecutableFacts& facts, int replica) {
  std::vector<double> scales;
  if (facts.scales.empty()) return scales;
  for (int place = 0; place < ir.mesh.places; ++place) {
    for (int rank = 0; rank < ir.mesh.width; ++rank) {
      const DeviceScale scale = scaleOf(facts, ir.mesh.chip(replica, place, rank));
      scales.push_back(scale.compute);
      scales.push_back(scale.link);
    }
  }
  return scales;
}

/// The effect of links on the transfers and collectives of a replica. Replicas with equal values have equal
/// times.
struct LinkSignature {
  std::vector<std::int64_t> ticks;  ///< of transfers, alone and all together
  /// Numbers of the links of each flow, by order of first use, and then the links and shares of each load.
  std::vector<double> uses;
  friend auto operator<=>(const LinkSignature&, const LinkSignature&) = default;
};

LinkSignature linkSignature(const devices::System& system, const compile::ExecutableIr& ir,
                            const std::vector<devices::LoweredDevice>& lowered, const FlowsOfReplicas& all,
                            int replica) {
  LinkSignature signature;
  const std::vector<devices::Flow> flows = all.of(replica);
  if (!flows.empty()) {
    const FlowLists beside = all.beside(replica);
    const LinkContention links(system, flows, {}, beside);
    for (int i = 0; i < static_cast<int>(flows.size()); ++i) signature.ticks.push_back(links.alone(i).count);
    for (const Ticks ticks : ticksBeside(system, flows, beside)) signature.ticks.push_back(ticks.count);
  }
  LinkUses uses(system, ir.mesh);
  for (const devices::LoweredDevice& device : lowered) {
    const int own = ir.mesh.chip(replica, ir.mesh.placeOf(device.device), ir.mesh.rankOf(device.device));
    for (const devices::LoweredPass& pass : device.passes)
      for (const devices::LoweredSegment& segment : pass.segments) uses.of(pass, segment, own);
  }
  if (uses.loads().empty()) return signature;
  std::map<std::int64_t, int> numbers;
  const auto add = [&](std::int64_t link, double share) {
    signature.uses.push_back(numbers.try_emplace(link, static_cast<int>(numbers.size())).first->second);
    signature.uses.push_back(share);
  };
  for (const devices::Flow& flow : flows) {
    signature.uses.push_back(-1);
    for (const std::int64_t link : system.linksOf(flow)) add(link, 1);
  }
  for (const LinkLoad& load : uses.loads()) {
    signature.uses.push_back(-1);
    for (const devices::LinkShare& part : load.shares) add(part.link, part.share);
  }
  return signature;
}

bool isScaled(model::Pass pass) {
  return pass != model::Pass::hostIn && pass != model::Pass::hostOut && pass != model::Pass::remote;
}

/// A collective among the ranks of the place.
bool isExchange(const devices::LoweredStep& step) {
  return step.kind == model::StepKind::globalExchange;
}

/// Slows the lengths of a step down, but not its offset.
void slowStep(devices::LoweredStep& step, Ticks ticks, double slowdown) {
  step.ticks = step.maxTicks = ticks;
  step.minTicks = std::min(slower(step.minTicks, slowdown), step.ticks);
  step.meanTicks *= slowdown;
  for (devices::LoweredUnitTicks& unit : step.units)
    unit.ticks = std::min(slower(unit.ticks, slowdown), step.ticks);
}

}  // namespace

void slowDown(devices::LoweredSegment& segment, double slowdown) {
  segment.ticks = slower(segment.ticks, slowdown);
  for (devices::LoweredStep& step : segment.steps) {
    const Ticks end = slower(step.offset + step.ticks, slowdown);
    step.offset = slower(step.offset, slowdown);
    slowStep(step, end - step.offset, slowdown);
  }
}

void slowDown(devices::LoweredSegment& segment, double compute, double exchange) {
  if (std::ranges::none_of(segment.steps, isExchange)) return slowDown(segment, compute);
  std::vector<devices::LoweredStep*> byStart;
  for (devices::LoweredStep& step : segment.steps) byStart.push_back(&step);
  std::ranges::stable_sort(byStart, {}, [](const devices::LoweredStep* step) { return step->offset; });
  std::multimap<Ticks, Ticks> running;  // ends of the steps under way: as they were, and now
  Ticks ended, endedNow;                // the latest end so far: as it was, and now
  const auto passTo = [&](Ticks time) {
    while (!running.empty() && running.begin()->first <= time) {
      ended = std::max(ended, running.begin()->first);
      endedNow = std::max(endedNow, running.begin()->second);
      running.erase(running.begin());
    }
  };
  for (devices::LoweredStep* step : byStart) {
    passTo(step->offset);
    const double slowdown = isExchange(*step) ? exchange : compute;
    const Ticks end = step->offset + step->ticks;
    step->offset = endedNow + slower(step->offset - ended, compute);
    slowStep(*step, slower(step->ticks, slowdown), slowdown);
    running.emplace(end, step->offset + step->ticks);
  }
  passTo(segment.ticks);
  segment.ticks = endedNow + slower(segment.ticks - ended, compute);
}

DeviceScale scaleOf(const ExecutableFacts& facts, int device) {
  for (const DeviceScale& scale : facts.scales) {
    if (scale.device == device) return scale;
  }
  return {device, 1, 1};
}

DeviceScale scaleOfPlace(const ExecutableFacts& facts, int firstDevice, int width) {
  DeviceScale slowest = scaleOf(facts, firstDevice);
  for (int rank = 1; rank < width; ++rank) {
    const DeviceScale other = scaleOf(facts, firstDevice + rank);
    slowest.compute = std::min(slowest.compute, other.compute);
    slowest.link = std::min(slowest.link, other.link);
  }
  return slowest;
}

std::vector<StageFlow> stageFlows(const compile::ExecutableIr& ir, int replica, int rank) {
  std::vector<StageFlow> flows;
  for (const compile::BoundaryTensor& tensor : ir.boundaries) {
    const auto chipOf = [&](int stage) {
      return ir.mesh.chip(replica, ir.stages[static_cast<std::size_t>(stage)].place, rank);
    };
    const int from = chipOf(tensor.fromStage), to = chipOf(tensor.toStage);
    if (from == to) continue;
    const auto known = std::find_if(flows.begin(), flows.end(), [&](const StageFlow& flow) {
      return flow.fromStage == tensor.fromStage && flow.toStage == tensor.toStage && flow.kind == tensor.kind;
    });
    if (known != flows.end()) {
      known->flow.bytes += tensor.type.bytes();
    } else {
      flows.push_back({tensor.fromStage, tensor.toStage, tensor.kind, {from, to, tensor.type.bytes()}});
    }
  }
  return flows;
}

FlowsOfReplicas::FlowsOfReplicas(const devices::System& system, const compile::ExecutableIr& ir)
    : ir_(ir), width_(ir.mesh.width) {
  if (system.period() > 0) return;
  flows_.resize(static_cast<std::size_t>(ir.mesh.replicas * ir.mesh.width));
  links_.resize(flows_.size());
  for (std::size_t part = 0; part < flows_.size(); ++part) {
    const int number = static_cast<int>(part);
    for (const StageFlow& flow : stageFlows(ir, number / width_, number % width_)) {
      flows_[part].push_back(flow.flow);
      if (flows_.size() == 1) continue;
      for (const std::int64_t link : system.linksOf(flow.flow)) links_[part].insert(link);
    }
    for (const std::int64_t link : links_[part]) partsOn_[link].push_back(number);
  }
}

std::vector<devices::Flow> FlowsOfReplicas::of(int replica) const {
  if (!flows_.empty()) return flows_[static_cast<std::size_t>(replica * width_)];
  std::vector<devices::Flow> flows;
  for (const StageFlow& flow : stageFlows(ir_, replica)) flows.push_back(flow.flow);
  return flows;
}

std::vector<std::vector<devices::Flow>> FlowsOfReplicas::beside(int replica) const {
  if (flows_.empty()) return {};
  const int own = replica * width_;
  std::set<int> others;
  for (const std::int64_t link : links_[static_cast<std::size_t>(own)]) {
    const std::vector<int>& all = partsOn_.at(link);
    others.insert(all.begin(), all.end());
  }
  others.erase(own);
  std::vector<std::vector<devices::Flow>> lists;
  for (const int other : others) lists.push_back(flows_[static_cast<std::size_t>(other)]);
  return lists;
}

std::vector<ReplicaClass> replicaClasses(const devices::System& system, const compile::ExecutableIr& ir,
                                         const std::vector<devices::LoweredDevice>& lowered,
                                         const ExecutableFacts& facts, const FlowsOfReplicas& flows) {
  if (ir.mesh.replicas == 1) return {{0, {0}}};
  std::vector<ReplicaClass> classes;
  std::map<std::pair<std::vector<double>, int>, std::size_t> known;
  std::map<LinkSignature, int> signatures;  // numbered, because they are long
  // Links look alike from replicas that lie whole periods apart.
  std::map<int, int> byPosition;
  const auto numberOf = [&](int replica) {
    LinkSignature own = linkSignature(system, ir, lowered, flows, replica);
    return signatures.try_emplace(std::move(own), static_cast<int>(signatures.size())).first->second;
  };
  const auto signatureOf = [&](int replica) {
    if (system.period() == 0) return numberOf(replica);
    const auto [found, added] = byPosition.try_emplace(ir.mesh.chip(replica, 0) % system.period());
    if (added) found->second = numberOf(replica);
    return found->second;
  };
  for (int replica = 0; replica < ir.mesh.replicas; ++replica) {
    if (!facts.recordAllReplicas) {
      const auto [found, added] =
          known.try_emplace({scalesOf(ir, facts, replica), signatureOf(replica)}, classes.size());
      if (!added) {
        classes[found->second].members.push_back(replica);
        continue;
      }
    }
    classes.push_back({replica, {replica}});
  }
  return classes;
}

devices::LoweredDevice onReplica(const devices::LoweredDevice& first, int replica, const compile::Mesh& mesh,
                                 const ExecutableFacts& facts) {
  devices::LoweredDevice own = first;
  own.device = mesh.chip(replica, mesh.placeOf(first.device), mesh.rankOf(first.device));
  if (facts.scales.empty()) return own;
  // A place is as slow as its slowest rank, because every layer ends in a collective of all ranks.
  const DeviceScale slowest = scaleOfPlace(facts, own.device, mesh.width);
  const auto slowestLink = [&](int device, const ops::Collective& sum) {
    double link = slowest.link;
    for (int rank = 0; rank < mesh.width; ++rank)
      for (const int other : mesh.group(device + rank, sum))
        link = std::min(link, scaleOf(facts, other).link);
    return link;
  };
  const double link = slowestLink(first.device, {.holders = ops::Collective::Holders::all});
  for (devices::LoweredPass& pass : own.passes) {
    for (devices::LoweredSegment& segment : pass.segments) {
      const model::Pass kind = segment.pass.value_or(pass.pass);
      if (!isScaled(kind)) continue;
      if (segment.tied >= 0)
        slowDown(
            segment,
            1 / slowestLink(own.device, *pass.operators[static_cast<std::size_t>(segment.tied)].collective));
      else if (kind == model::Pass::collective)
        slowDown(segment, 1 / link);
      else
        slowDown(segment, 1 / slowest.compute, 1 / slowest.link);
    }
  }
  return own;
}

}  // namespace pipescope::emulate
