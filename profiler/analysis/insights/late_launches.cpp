// An accelerator of an imported trace is idle because its host has not launched the next kernel.
#include <fmt/format.h>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findLateLaunches(const InsightInput& input, const InsightRule& rule) {
  const RecordedShare worst = largestShare(input.recorded, &AcceleratorTimes::hostIdle);
  if (worst.device == nullptr || !rule.exceeds(worst.share)) return {};
  Insight found = recordedFinding(worst.share, worst.device->device, "kernels");
  found.what = fmt::format(
      "For {} of the time between its first and last kernel, {} is idle because its host has not launched "
      "the next kernel.",
      insightPercent(worst.share), input.deviceName(found.device));
  found.advice =
      "Launch fewer and longer kernels (larger batches, fused operators, recorded graphs), and let the host "
      "wait for results less often.";
  found.boundText = "if the host launched each kernel in time";
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(late_launches) {
  registry.add({"late_launches", "idle time before a launch ÷ time from the first to the last kernel", 0.1,
                false, findLateLaunches});
}

}  // namespace pipescope::analysis
