#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/model/rows.h"

namespace pipescope::importing {

/// Part of one rank in a collective.
struct CollectiveMember {
  model::DeviceId device;
  base::Ticks start, end;
};

/// The parts of the collectives of one group, by device.
using CollectivesOfDevices = std::map<model::DeviceId, std::vector<CollectiveMember>>;

/// Collectives that accelerators execute as kernels. No rule gives them a place in the pipeline, but they
/// state their process group, so that their members are known.
class KernelCollectives {
 public:
  /// `group` is the same for all collectives of a process group that do the same. If there are very many
  /// members, none are kept: a trace may be larger than memory.
  void add(const std::string& group, const CollectiveMember& member);
  /// Visits all groups that were added. `operation` is the last part of the group's name, behind a comma.
  void eachGroup(
      const std::function<void(std::string_view operation, const CollectivesOfDevices&)>& visit) const;
  /// Visits the members of each collective, in the order of their starts. The n-th collective of a group is
  /// the n-th one on each of its ranks; a group of which a rank lacks some is left out, and so is one of
  /// which only one rank is known. Takes what was added.
  void take(const std::function<void(const std::vector<CollectiveMember>&)>& visit);

 private:
  std::map<std::string, CollectivesOfDevices> members_;
  std::size_t count_ = 0;
};

}  // namespace pipescope::importing
