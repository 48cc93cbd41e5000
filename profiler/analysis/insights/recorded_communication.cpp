// Kernels of an imported trace communicate while no other kernel computes.
#include <fmt/format.h>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findRecordedCommunication(const InsightInput& input, const InsightRule& rule) {
  const RecordedShare worst = largestShare(input.recorded, &AcceleratorTimes::exposedCommunication);
  if (worst.device == nullptr || !rule.exceeds(worst.share)) return {};
  Insight found = recordedFinding(worst.share, worst.device->device, "kernels");
  found.what = fmt::format(
      "For {} of the time between its first and last kernel, {} only communicates: no kernel computes "
      "meanwhile.",
      insightPercent(worst.share), input.deviceName(found.device));
  found.advice =
      "Start collectives earlier, in smaller buckets or beside other work, or communicate less: larger "
      "micro-batches, another division of the model.";
  found.boundText = "if other work hid all communication";
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(recorded_communication) {
  registry.add({"recorded_communication",
                "time in which kernels only communicate ÷ time from the first to the last kernel", 0.1, false,
                findRecordedCommunication});
}

}  // namespace pipescope::analysis
