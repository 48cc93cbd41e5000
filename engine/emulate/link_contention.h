#pragma once
// How long transfers take that share links: solved per set of concurrent ones by the device family, and
// remembered by that set.
#include <unordered_map>
#include <vector>

#include "engine/devices/core/device_family.h"

namespace pipescope::emulate {

using FlowLists = std::vector<std::vector<devices::Flow>>;

/// Ticks of the first list's flows, all started together with those of the others.
std::vector<base::Ticks> ticksBeside(const devices::System& system, std::vector<devices::Flow> flows,
                                     const FlowLists& beside);

class LinkContention {
 public:
  /// `slowdowns`: factor of each flow's time; none: 1. `beside`: lists like `flows` that go in step with
  /// them, so that with each flow its counterparts are under way too (other replicas over the same links).
  LinkContention(const devices::System& system, std::vector<devices::Flow> flows,
                 std::vector<double> slowdowns = {}, FlowLists beside = {});

  /// Flows in one group share links, directly or through others of the group; flows of different groups never
  /// meet. kAlone: the flow meets nobody, itself included.
  static constexpr int kAlone = -1;
  int groupOf(int flow) const { return groups_[static_cast<std::size_t>(flow)]; }
  int groups() const { return groupCount_; }
  base::Ticks alone(int flow) const { return alone_[static_cast<std::size_t>(flow)]; }
  /// Ticks of each of several flows of one group that go on together, in the order given. `flows` is
  /// ascending; a flow may be there several times.
  const std::vector<base::Ticks>& together(const std::vector<int>& flows);
  /// Sets solved so far.
  std::size_t solved() const { return known_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<int>& flows) const;
  };
  void findGroups();

  const devices::System& system_;
  base::Ticks slowed(int flow, base::Ticks ticks) const;
  std::vector<base::Ticks> solve(const std::vector<int>& flows) const;

  std::vector<devices::Flow> flows_;
  std::vector<double> slowdowns_;
  FlowLists beside_;
  std::vector<base::Ticks> alone_;
  std::vector<int> groups_;
  int groupCount_ = 0;
  std::unordered_map<std::vector<int>, std::vector<base::Ticks>, Hash> known_;
};

}  // namespace pipescope::emulate
