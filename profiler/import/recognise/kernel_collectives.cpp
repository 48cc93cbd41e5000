#include "profiler/import/recognise/kernel_collectives.h"

#include <algorithm>

namespace pipescope::importing {

void KernelCollectives::add(const std::string& group, const CollectiveMember& member) {
  constexpr std::size_t kMostMembers = 2'000'000;
  if (++count_ > kMostMembers) {
    members_.clear();
  } else {
    members_[group][member.device].push_back(member);
  }
}

void KernelCollectives::eachGroup(
    const std::function<void(std::string_view operation, const CollectivesOfDevices&)>& visit) const {
  for (const auto& [group, devices] : members_) {
    const std::size_t comma = group.rfind(", ");
    visit(comma == std::string::npos ? std::string_view(group) : std::string_view(group).substr(comma + 2),
          devices);
  }
}

void KernelCollectives::take(const std::function<void(const std::vector<CollectiveMember>&)>& visit) {
  std::vector<CollectiveMember> collective;
  for (auto& [group, devices] : members_) {
    const std::size_t count = devices.begin()->second.size();
    const bool equal =
        std::ranges::all_of(devices, [&](const auto& own) { return own.second.size() == count; });
    if (devices.size() < 2 || !equal) continue;
    for (auto& [device, own] : devices) std::ranges::stable_sort(own, {}, &CollectiveMember::start);
    for (std::size_t n = 0; n < count; ++n) {
      collective.clear();
      for (const auto& [device, own] : devices) collective.push_back(own[n]);
      std::ranges::stable_sort(collective, {}, &CollectiveMember::start);
      visit(collective);
    }
  }
  members_.clear();
}

}  // namespace pipescope::importing
