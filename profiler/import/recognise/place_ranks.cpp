#include "profiler/import/recognise/place_ranks.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

namespace pipescope::importing {
namespace {

using model::DeviceId;

/// The axis along which members exchange within forward passes. Nothing: the collective does not tell.
std::string PlaceRank::*axisOf(std::string_view operation) {
  std::string name;
  for (const char c : operation)
    if (c != '_' && c != '-') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (name.find("alltoall") != std::string::npos) return &PlaceRank::expert;
  if (name.find("allreduce") != std::string::npos || name.find("reducescatter") != std::string::npos)
    return &PlaceRank::tensor;
  return nullptr;
}

/// Forward passes of each device, in the order of time, and its only stage.
struct DeviceForwards {
  std::vector<std::pair<base::Ticks, base::Ticks>> passes;
  std::set<std::int32_t> stages;
  std::int64_t rank = -1;
};
using Forwards = std::map<DeviceId, DeviceForwards>;

Forwards forwardsOf(const RecordedEvents& events) {
  Forwards forwards;
  for (const RecordedPass& pass : events.passes) {
    if (!model::isComputePass(pass.pass) || pass.stage < 0) continue;
    DeviceForwards& own = forwards[pass.device];
    own.stages.insert(pass.stage);
    own.rank = std::max(own.rank, pass.rank);
    if (pass.pass == model::Pass::forward) own.passes.emplace_back(pass.start, pass.end);
  }
  for (auto& [device, own] : forwards) std::ranges::sort(own.passes);
  return forwards;
}

/// True if each layer of a forward pass exchanges: at least two collectives for each pass lie within passes.
bool exchangesInForwards(const DeviceForwards& own, const std::vector<CollectiveMember>& members) {
  constexpr std::int64_t kLeastOfPass = 2;
  std::int64_t within = 0;
  for (const CollectiveMember& member : members) {
    const auto after = std::ranges::partition_point(
        own.passes, [&](const auto& pass) { return pass.first <= member.start; });
    within += after != own.passes.begin() && member.start < std::prev(after)->second ? 1 : 0;
  }
  return !own.passes.empty() && within >= kLeastOfPass * static_cast<std::int64_t>(own.passes.size());
}

/// The members of a group in the order of their ranks. Empty: they are no ranks of one place.
std::vector<DeviceId> ranksOfPlace(const CollectivesOfDevices& group, const Forwards& forwards) {
  std::vector<DeviceId> ranks;
  const DeviceForwards* first = nullptr;
  for (const auto& [device, members] : group) {
    const auto own = forwards.find(device);
    if (own == forwards.end() || !exchangesInForwards(own->second, members)) return {};
    if (first != nullptr && own->second.stages != first->stages) return {};
    first = &own->second;
    ranks.push_back(device);
  }
  std::ranges::stable_sort(ranks, {}, [&](DeviceId device) { return forwards.at(device).rank; });
  return ranks;
}

}  // namespace

void inferPlaceRanks(RecordedEvents& events, const KernelCollectives& collectives) {
  if (std::ranges::any_of(events.passes,
                          [](const RecordedPass& pass) { return pass.rankOfPlace.isStated(); }))
    return;
  const Forwards forwards = forwardsOf(events);
  std::map<DeviceId, PlaceRank> rankOf;
  std::map<DeviceId, DeviceId> leader;  // the first rank of the place
  collectives.eachGroup([&](std::string_view operation, const CollectivesOfDevices& group) {
    std::string PlaceRank::*const axis = axisOf(operation);
    if (axis == nullptr || group.size() < 2) return;
    const std::vector<DeviceId> ranks = ranksOfPlace(group, forwards);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i > 0) rankOf[ranks[i]].*axis = std::to_string(i);
      if (i > 0) leader.emplace(ranks[i], ranks.front());
    }
  });
  if (rankOf.empty()) return;
  const auto firstOf = [&](DeviceId device) {
    for (std::size_t steps = 0; steps <= leader.size() && leader.contains(device); ++steps)
      device = leader.at(device);
    return device;
  };
  std::map<DeviceId, std::string> replicaOf;
  for (const RecordedPass& pass : events.passes)
    if (model::isComputePass(pass.pass)) replicaOf.emplace(pass.device, pass.replica);
  for (auto* list : {&events.passes, &events.sends, &events.receives}) {
    for (RecordedPass& pass : *list) {
      const auto own = rankOf.find(pass.device);
      if (own == rankOf.end()) continue;
      pass.rankOfPlace = own->second;
      pass.replica = replicaOf[firstOf(pass.device)];
    }
  }
}

}  // namespace pipescope::importing
