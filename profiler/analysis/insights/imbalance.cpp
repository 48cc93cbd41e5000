// One stage computes longer than the others.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findImbalance(const InsightInput& input, const InsightRule& rule) {
  const StageReport* slowest = input.stages.slowest();
  if (slowest == nullptr || input.stages.stages.size() < 2 || !input.stages.imbalance ||
      !rule.exceeds(*input.stages.imbalance))
    return {};
  Insight found;
  found.figure = *input.stages.imbalance;
  const double lost = input.stages.lost.step > 0 ? input.stages.lost.imbalance / input.stages.lost.step : 0;
  found.share = std::clamp(lost, 0.0, 1.0);
  found.what =
      fmt::format("{} computes {:.3g} times as long as the mean of the devices, and the others wait.",
                  insightStage(*slowest, true), found.figure);
  if (found.share > 0 && found.share < 1) {
    found.bound = found.share / (1 - found.share);
    found.boundText = "if all stages computed equally long";
  }
  found.page = "stages";
  found.stage = slowest->index;
  found.device = slowest->device;
  found.advice = input.target.family == "imported"
                     ? "Move work to its neighbours."
                     : "Move work to its neighbours; pipescope plan finds the best split.";
  found.alternatives = movesFrom(input, *slowest);
  if (!input.replanned.empty()) found.alternatives.push_back(input.replanned);
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(imbalance) {
  registry.add({"imbalance", "largest ÷ mean computing time of the devices that hold a stage", 1.1, false,
                findImbalance});
}

}  // namespace pipescope::analysis
