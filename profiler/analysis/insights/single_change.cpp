// A change of one option, such as the schedule, gains time although no other rule asks for it.
#include <fmt/format.h>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findSingleChange(const InsightInput& input, const InsightRule& rule) {
  if (!input.bestChange || !rule.exceeds(input.bestChange->gain)) return {};
  const TriedChange& best = *input.bestChange;
  Insight found;
  found.figure = best.gain;
  found.share = best.gain / (1 + best.gain);
  found.what =
      best.tried == 1
          ? fmt::format("The only change that can be replayed, {}={}, makes the run faster.", best.change.key,
                        best.change.value)
          : fmt::format(
                "Of {} single changes of split, micro-batches, schedule or recompute, {}={} gains most.",
                best.tried, best.change.key, best.change.value);
  found.page = "stages";
  found.advice = "Make this change; pipescope what-if tries others together with it.";
  found.alternatives = {{best.change}};
  found.yields = true;
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(single_change) {
  registry.add({"single_change", "rate with the best single change ÷ recorded rate − 1", kWorthwhileGain,
                false, findSingleChange});
}

}  // namespace pipescope::analysis
