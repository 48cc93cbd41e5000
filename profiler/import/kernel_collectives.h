#pragma once
#include <map>
#include <string>
#include <vector>

#include "profiler/model/rows.h"

namespace pipescope::importing {

/// What one rank does in a collective.
struct CollectiveMember {
  model::DeviceId device;
  base::Ticks start, end;
};

/// Collectives that accelerators execute as kernels. No rule gives them a place in the pipeline, but they
/// state their process group, so that their members are known.
class KernelCollectives {
 public:
  /// `group` is the same for all collectives of a process group that do the same.
  void add(const std::string& group, const CollectiveMember& member) {
    members_[group][member.device].push_back(member);
  }
  /// The members of each collective, in the order of their starts. The n-th collective of a group is the n-th
  /// one on each of its ranks; a group of which a rank lacks some is left out, and so is one of which only
  /// one rank is known. Takes what was added.
  std::vector<std::vector<CollectiveMember>> take();

 private:
  std::map<std::string, std::map<model::DeviceId, std::vector<CollectiveMember>>> members_;
};

}  // namespace pipescope::importing
