#include "profiler/import/kernel_collectives.h"

#include <algorithm>

namespace pipescope::importing {

std::vector<std::vector<CollectiveMember>> KernelCollectives::take() {
  std::vector<std::vector<CollectiveMember>> collectives;
  for (auto& [group, devices] : members_) {
    const std::size_t count = devices.begin()->second.size();
    const bool equal =
        std::ranges::all_of(devices, [&](const auto& own) { return own.second.size() == count; });
    if (devices.size() < 2 || !equal) continue;
    for (auto& [device, own] : devices) std::ranges::stable_sort(own, {}, &CollectiveMember::start);
    for (std::size_t n = 0; n < count; ++n) {
      auto& collective = collectives.emplace_back();
      for (const auto& [device, own] : devices) collective.push_back(own[n]);
      std::ranges::stable_sort(collective, {}, &CollectiveMember::start);
    }
  }
  members_.clear();
  return collectives;
}

}  // namespace pipescope::importing
