#include "engine/devices/ipu/collectives/ring.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/core/rounding.h"

namespace pipescope::devices::ipu {

using ops::ceilDiv;
namespace {

using RingGroups = std::vector<RingGroup>;
using CollectiveKind = ops::Collective::Kind;

/// One phase of a ring in each of the groups.
class RingPhase {
 public:
  RingPhase(const Ladder& ladder, const RingGroups& groups, bool severalIpus)
      : ladder_(ladder), severalIpus_(severalIpus) {
    for (const auto& [devices, share] : groups) {
      if (devices.size() > 1) rings_.push_back({ringOrder(devices), share});
      members_ = std::max(members_, static_cast<std::int64_t>(devices.size()));
    }
  }
  std::int64_t members() const { return members_; }

  /// `bytes` is the tensor that is scattered, or the one that is gathered.
  void addTo(std::vector<CollectivePhase>& phases, const std::string& name, bool gathers,
             std::int64_t bytes) const {
    if (rings_.empty() || bytes <= 0) return;
    const std::int64_t fragment = ceilDiv(bytes, members_);
    const RingMethod method = ringMethod(gathers, members_, gathers ? fragment : bytes, severalIpus_);
    CollectivePhase phase{.name = name, .reduces = !gathers};
    phase.exchanges = method == RingMethod::meetInMiddle ? members_ / 2 : members_ - 1;
    phase.fragmentBytes = method == RingMethod::bidirectionalPair ? ceilDiv(fragment, 2) : fragment;
    phase.directions = method == RingMethod::clockwise ? 1 : 2;
    phase.seconds = exchangeSeconds(phase.fragmentBytes, 1, phase.directions == 2 ? -1 : 0);
    phases.push_back(std::move(phase));
  }

  /// Each device sends a fragment of `bytes` to every other one: to the nearest first, to one in each
  /// direction at a time.
  void addAllToAll(std::vector<CollectivePhase>& phases, std::int64_t bytes) const {
    if (rings_.empty() || bytes <= 0) return;
    const std::int64_t fragment = ceilDiv(bytes, members_);
    for (std::int64_t distance = 1; 2 * distance <= members_; ++distance) {
      const bool opposite = 2 * distance == members_;
      CollectivePhase phase{.name = "AllToAll", .exchanges = 1, .fragmentBytes = fragment};
      phase.directions = opposite ? 1 : 2;
      phase.seconds = exchangeSeconds(fragment, distance, opposite ? 0 : -distance);
      phases.push_back(std::move(phase));
    }
  }

  /// Each device sends `bytes` to the next one.
  void addSend(std::vector<CollectivePhase>& phases, std::int64_t bytes) const {
    if (rings_.empty() || bytes <= 0) return;
    phases.push_back({"RingSend", false, 1, bytes, 1, exchangeSeconds(bytes, 1, 0)});
  }

 private:
  /// Seconds in which each device sends `bytes` to the one at a distance in its ring, and if `other` is not 0
  /// also to the one at that distance.
  double exchangeSeconds(std::int64_t bytes, std::int64_t distance, std::int64_t other) const {
    std::vector<Flow> flows;
    for (const auto& [ring, share] : rings_) {
      const Bytes sent(share < 1 ? static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) * share))
                                 : bytes);
      const auto size = static_cast<std::int64_t>(ring.size());
      for (std::int64_t i = 0; i < size; ++i) {
        const auto at = [&, &ring = ring](std::int64_t steps) {
          return ring[static_cast<std::size_t>(((i + steps) % size + size) % size)];
        };
        flows.push_back({at(0), at(distance), sent});
        if (other != 0) flows.push_back({at(0), at(other), sent});
      }
    }
    double slowest = 0;
    for (const double seconds : ladder_.seconds(flows)) slowest = std::max(slowest, seconds);
    return slowest;
  }

  const Ladder& ladder_;
  bool severalIpus_;
  RingGroups rings_;  ///< devices in the order of their ring
  std::int64_t members_ = 1;
};

/// The members of each group that links join, and those in the same place of other domains.
struct DomainGroups {
  RingGroups within, across;
};

DomainGroups byDomain(const Ladder& ladder, const RingGroups& groups) {
  DomainGroups result;
  for (auto [devices, share] : groups) {
    std::sort(devices.begin(), devices.end());
    std::vector<std::vector<int>> domains;
    for (const int device : devices) {
      if (domains.empty() || !ladder.oneDomain(domains.back().front(), device)) domains.emplace_back();
      domains.back().push_back(device);
    }
    for (std::size_t place = 0; place < domains.front().size(); ++place) {
      std::vector<int> same;
      for (const std::vector<int>& domain : domains) {
        if (place < domain.size()) same.push_back(domain[place]);
      }
      result.across.push_back({std::move(same), share});
    }
    for (std::vector<int>& domain : domains) result.within.push_back({std::move(domain), share});
  }
  return result;
}

}  // namespace

RingMethod ringMethod(bool gathers, std::int64_t members, std::int64_t bytes, bool severalIpus) {
  if (severalIpus || members <= 2) return RingMethod::clockwise;
  const std::int64_t unit = gathers ? 622592 : 1245184;
  const bool small = bytes < unit || (members > 4 && bytes < 4 * unit) || (members > 8 && bytes < 32 * unit);
  return small || members > 16 ? RingMethod::meetInMiddle : RingMethod::bidirectionalPair;
}

std::vector<int> ringOrder(const std::vector<int>& devices) {
  std::vector<int> ring;
  for (std::size_t i = 0; i < devices.size(); i += 2) ring.push_back(devices[i]);
  for (std::size_t i = devices.size() / 2; i-- > 0;) ring.push_back(devices[2 * i + 1]);
  return ring;
}

std::vector<CollectivePhase> collectivePhases(const Ladder& ladder, CollectiveKind kind, std::int64_t bytes,
                                              const RingGroups& groups, bool severalIpus) {
  std::vector<CollectivePhase> phases;
  if (kind == CollectiveKind::allToAll || kind == CollectiveKind::ringSend) {
    const RingPhase all(ladder, groups, severalIpus);
    kind == CollectiveKind::allToAll ? all.addAllToAll(phases, bytes) : all.addSend(phases, bytes);
    return phases;
  }
  const DomainGroups domains = byDomain(ladder, groups);
  const RingPhase near(ladder, domains.within, severalIpus), far(ladder, domains.across, severalIpus);
  const std::int64_t share = ceilDiv(bytes, near.members());
  if (kind == CollectiveKind::allReduce || kind == CollectiveKind::reduceScatter) {
    near.addTo(phases, "ReduceScatter", false, bytes);
    far.addTo(phases, "ReduceScatterOverGateways", false, share);
  }
  if (kind != CollectiveKind::reduceScatter) {
    far.addTo(phases, "AllGatherOverGateways", true, share);
    near.addTo(phases, "AllGather", true, bytes);
  }
  return phases;
}

}  // namespace pipescope::devices::ipu
