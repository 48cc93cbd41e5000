// The micro-batch is too small for the units that multiply matrices.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findSmallMicroBatch(const InsightInput& input, const InsightRule& rule) {
  constexpr double kMostFill = 0.6;  // otherwise twice the activations would hardly fit
  const DeviceMemory* fullest = fullestMemory(input.memory);
  if (!input.peakUse || *input.peakUse <= 0 || !rule.exceeds(*input.peakUse) ||
      (fullest != nullptr && fillOf(*fullest) > kMostFill))
    return {};
  const auto larger = microBatchTimes(input, 2, 1);
  if (!larger) return {};
  Insight found;
  found.figure = *input.peakUse;
  const TimeShares shares = timeShares(input.execution);
  found.share = (1 - found.figure) * shares.compute;
  found.what = fmt::format(
      "Products use {} of the peak of the devices while these compute, with micro-batches of "
      "{}, and there is memory for larger ones.",
      insightPercent(found.figure), input.executable.microBatchSize);
  found.page = "operations";
  found.advice = "Make the micro-batches larger and accumulate fewer of them.";
  found.alternatives = {*larger};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(small_micro_batch) {
  registry.add({"small_micro_batch", "time of the FLOP at peak ÷ time in which devices compute", 0.3, true,
                findSmallMicroBatch});
}

}  // namespace pipescope::analysis
