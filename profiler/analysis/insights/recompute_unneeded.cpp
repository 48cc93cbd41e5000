// Activations are computed again although there is room to keep them.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

/// True if the device has room for what the stage would keep instead. No more than what lives during one
/// micro-batch is kept for each of them.
bool hasRoomToKeep(const InsightInput& input, const StageReport& stage) {
  const auto memory = std::ranges::find(input.memory.devices, stage.device, &DeviceMemory::index);
  if (!stage.memory || memory == input.memory.devices.end()) return false;
  const auto each = static_cast<double>(stage.memory->peakNotAlwaysLive.count) /
                    static_cast<double>(std::max<std::int64_t>(1, memory->units));
  return each * static_cast<double>(std::max<std::int64_t>(1, stage.stashEntries)) <=
         static_cast<double>(stage.memory->freeBytes.count);
}

std::vector<Insight> findRecomputeUnneeded(const InsightInput& input, const InsightRule& rule) {
  if (!input.training() || input.executable.recompute == "none") return {};
  double again = 0, busy = 0;
  for (const StageReport& stage : input.stages.stages) {
    again += stage.recompute;
    busy += stage.busy;
    if (stage.recompute > 0 && !hasRoomToKeep(input, stage)) return {};
  }
  if (busy <= 0 || !rule.exceeds(again / busy)) return {};
  Insight found;
  found.figure = again / busy;
  found.share = found.figure * timeShares(input.execution).compute;
  found.what = fmt::format(
      "Computing activations again takes {} of the computing time, but the memory of every "
      "device has room to keep them.",
      insightPercent(found.figure));
  found.page = "stages";
  found.advice = "Keep the activations.";
  found.alternatives = {{{"execution.recompute", "none"}}};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(recompute_unneeded) {
  registry.add(
      {"recompute_unneeded", "recompute ÷ computing time of all stages", 0.05, false, findRecomputeUnneeded});
}

}  // namespace pipescope::analysis
