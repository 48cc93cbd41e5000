// Communication is not hidden by other work.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findExposedCommunication(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  const DeviceExecution* worst = nullptr;
  for (const DeviceExecution& device : input.execution.devices) {
    // Only devices whose network works beside the other engines can hide communication.
    if (!device.byLane.contains(model::LaneRole::network) || device.total.count <= 0) continue;
    const double share = static_cast<double>(device.exposed.count) / static_cast<double>(device.total.count);
    if (share <= found.figure) continue;
    found.figure = share;
    worst = &device;
  }
  if (worst == nullptr || !rule.exceeds(found.figure)) return {};
  found.share = found.figure;
  found.what = fmt::format("For {} of the call, {} only communicates: no engine computes meanwhile.",
                           insightPercent(found.figure), worst->name);
  found.page = "engines";
  found.device = worst->index;
  found.lane = input.laneTitle(model::LaneRole::network);
  found.advice = "Sum gradients less often, or give the devices more work between the sums.";
  if (input.training() && input.executable.replicas > 1) {
    found.alternatives = {
        {{"training.gradient_accumulation", fmt::format("{}", 2 * input.executable.microBatches)}}};
  }
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(exposed_communication) {
  registry.add({"exposed_communication", "time in which a device only communicates ÷ length of the call", 0.1,
                false, findExposedCommunication});
}

}  // namespace pipescope::analysis
