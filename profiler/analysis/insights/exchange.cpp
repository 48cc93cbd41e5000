// The stage that holds the others up spends its time with exchange.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findExchange(const InsightInput& input, const InsightRule& rule) {
  const StageReport* limiting = input.stages.limiting();
  if (limiting == nullptr || limiting->occupied <= 0) return {};
  Insight found;
  found.figure = limiting->exchange / limiting->occupied;
  if (!rule.exceeds(found.figure)) return {};
  found.share = found.figure;
  std::int64_t bytes = 0;
  for (const BoundaryReport& boundary : input.stages.boundaries) {
    if (boundary.fromStage == limiting->index || boundary.toStage == limiting->index)
      bytes += boundary.bytes.count;
  }
  found.what = fmt::format(
      "Exchange with other devices takes {} of the time of {}, which holds the others up: {:.3g} MB cross "
      "its "
      "borders with each micro-batch.",
      insightPercent(found.figure), insightStage(*limiting), static_cast<double>(bytes) / 1e6);
  found.page = "stages";
  found.stage = limiting->index;
  found.device = limiting->device;
  found.lane = "exchange";
  found.advice = "Cut the model where fewer bytes cross; pipescope plan weighs exchange against computation.";
  found.alternatives = movesFrom(input, *limiting);
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(exchange) {
  registry.add(
      {"exchange", "exchange ÷ time of the limiting stage per micro-batch", 0.2, false, findExchange});
}

}  // namespace pipescope::analysis
