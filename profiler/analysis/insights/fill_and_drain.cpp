// A pipeline fills and drains for a large part of the step.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findFillAndDrain(const InsightInput& input, const InsightRule& rule) {
  const LostTime& lost = input.stages.lost;
  if (!input.training() || lost.step <= 0 || !rule.exceeds(lost.fillAndDrain / lost.step)) return {};
  Insight found;
  found.figure = found.share = lost.fillAndDrain / lost.step;
  found.what = fmt::format(
      "Filling and draining the pipeline takes {} of the step: {} micro-batches are few for "
      "{} stages.",
      insightPercent(found.figure), input.executable.microBatches, input.stages.stages.size());
  found.page = "stages";
  found.advice = "Accumulate more micro-batches before a weight update, or make the micro-batches smaller.";
  found.alternatives = {
      {{"training.gradient_accumulation", fmt::format("{}", 2 * input.executable.microBatches)}}};
  if (const auto smaller = microBatchTimes(input, 1, 2)) found.alternatives.push_back(*smaller);
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(fill_and_drain) {
  registry.add({"fill_and_drain", "time lost by fill and drain ÷ step time", 0.1, false, findFillAndDrain});
}

}  // namespace pipescope::analysis
