// Memory is full of activations that could be computed again.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findRecomputeWanted(const InsightInput& input, const InsightRule& rule) {
  constexpr double kLeastPart = 0.25;
  const DeviceMemory* fullest = fullestMemory(input.memory);
  if (!input.training() || input.executable.recompute != "none" || fullest == nullptr) return {};
  Insight found;
  found.figure = fillOf(*fullest);
  if (!rule.exceeds(found.figure)) return {};
  const auto stash = fullest->byCategory.find("stash");
  const std::int64_t kept =
      fullest->notAlwaysLivePeak.count + (stash == fullest->byCategory.end() ? 0 : stash->second.count);
  if (static_cast<double>(kept) < kLeastPart * static_cast<double>(fullest->total.count)) return {};
  found.what = fmt::format(
      "The fullest unit of {} is filled to {}, and activations take {} of what the device "
      "holds.",
      fullest->name, insightPercent(found.figure),
      insightPercent(static_cast<double>(kept) / static_cast<double>(fullest->total.count)));
  found.page = "memory";
  found.device = fullest->index;
  found.advice = "Compute activations again in the backward pass instead of keeping them; this costs time.";
  found.alternatives = {{{"execution.recompute", "pipeline"}}};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(recompute_wanted) {
  registry.add({"recompute_wanted", "address span of the fullest unit ÷ its capacity", 0.95, false,
                findRecomputeWanted});
}

}  // namespace pipescope::analysis
