// The stage that holds the others up spends its time with copies from and to the host.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

/// The configuration's ways to copy less, or beside the computation.
std::vector<InsightChanges> fewerCopies(const InsightInput& input, const StageReport& stage) {
  std::vector<InsightChanges> all;
  const std::string mode = input.table() + "output_mode";
  if (stage.hostOut > stage.hostIn && input.training() && input.option(mode) == "all")
    all.push_back({{mode, "final"}});
  // Pipelines copy at the begin and end of their cycles.
  if (input.hasUnits() && input.executable.strategy != "pipelined" &&
      input.option("execution.overlap_io") == "false")
    all.push_back({{"execution.overlap_io", "true"}, {"execution.io_tiles", "32"}});
  return all;
}

std::vector<Insight> findHostCopies(const InsightInput& input, const InsightRule& rule) {
  const StageReport* limiting = input.stages.limiting();
  if (limiting == nullptr || limiting->occupied <= 0) return {};
  Insight found;
  found.figure = (limiting->hostIn + limiting->hostOut) / limiting->occupied;
  if (!rule.exceeds(found.figure)) return {};
  found.share = found.figure;
  found.what =
      fmt::format("Copies from and to the host take {} of the time of {}, which holds the others up.",
                  insightPercent(found.figure), insightStage(*limiting));
  found.page = "stages";
  found.stage = limiting->index;
  found.device = limiting->device;
  found.lane = "host";
  found.advice = "Copy less, such as narrower inputs and fewer outputs, or copy while the device computes.";
  found.alternatives = fewerCopies(input, *limiting);
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(host_copies) {
  registry.add({"host_copies", "host copies ÷ time of the limiting stage per micro-batch", 0.15, false,
                findHostCopies});
}

}  // namespace pipescope::analysis
