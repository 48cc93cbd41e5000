#include "profiler/analysis/pipeline/recorded/late_arrivals.h"

#include <algorithm>
#include <map>
#include <set>

namespace pipescope::analysis {

std::vector<LateArrival> lateArrivals(const std::vector<WaitGroup>& waits) {
  std::map<model::DeviceId, LateArrival> byDevice;
  std::map<model::DeviceId, std::set<model::DeviceId>> waiting;
  for (const WaitGroup& group : waits) {
    if (group.cause != model::WaitCause::collective || !group.waitedForDevice.valid()) continue;
    if (group.waitedForDevice == group.device) continue;
    LateArrival& late = byDevice[group.waitedForDevice];
    late.ticksPerIteration += group.ticksPerIteration;
    late.share += group.share;
    waiting[group.waitedForDevice].insert(group.device);
  }
  std::vector<LateArrival> arrivals;
  for (auto& [device, late] : byDevice) {
    late.device = device;
    late.waiting = static_cast<int>(waiting[device].size());
    late.ticksPerIteration /= late.waiting;
    late.share /= late.waiting;
    arrivals.push_back(late);
  }
  std::ranges::stable_sort(arrivals, std::greater<>(), &LateArrival::share);
  return arrivals;
}

const LateArrival* lastToArrive(const std::vector<LateArrival>& arrivals) {
  constexpr double kNoticeable = 0.02, kMostOfThem = 0.5;
  double all = 0;
  for (const LateArrival& late : arrivals) all += late.share * late.waiting;
  if (arrivals.empty() || arrivals.front().share < kNoticeable) return nullptr;
  const LateArrival& first = arrivals.front();
  return first.share * first.waiting < kMostOfThem * all ? nullptr : &first;
}

}  // namespace pipescope::analysis
