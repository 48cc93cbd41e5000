// The stash dominates a stage's memory.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findStash(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  const StageReport* most = nullptr;
  for (const StageReport& stage : input.stages.stages) {
    if (!stage.memory) continue;
    const auto all =
        static_cast<double>(stage.memory->alwaysLive.count + stage.memory->peakNotAlwaysLive.count);
    const double share = all > 0 ? static_cast<double>(stage.memory->stash.count) / all : 0;
    if (share <= found.figure) continue;
    found.figure = share;
    most = &stage;
  }
  if (most == nullptr || !rule.exceeds(found.figure)) return {};
  found.what = fmt::format("The stash of {} micro-batches takes {} of the memory of {}.", most->stashEntries,
                           insightPercent(found.figure), insightStage(*most));
  found.page = "memory";
  found.freesMemory = true;
  found.stage = most->index;
  found.device = most->device;
  found.advice = input.executable.recompute == "none"
                     ? "Keep only the inputs of a stage and compute the rest again."
                     : "Make micro-batches smaller, or use a schedule that keeps fewer of them under way.";
  if (input.executable.recompute == "none") {
    found.alternatives = {{{"execution.recompute", "pipeline"}}};
  } else if (const auto smaller = microBatchTimes(input, 1, 2)) {
    found.alternatives = {*smaller};
  }
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(stash) {
  registry.add({"stash", "stash ÷ bytes of the stage's device at its peak", 0.3, false, findStash});
}

}  // namespace pipescope::analysis
