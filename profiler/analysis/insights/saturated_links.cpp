// A link works nearly all the time.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findSaturatedLinks(const InsightInput& input, const InsightRule& rule) {
  const LinkUse* most = nullptr;
  for (const LinkUse& link : input.links) {
    if (most == nullptr || link.share > most->share) most = &link;
  }
  if (most == nullptr || !rule.exceeds(most->share)) return {};
  Insight found;
  found.figure = found.share = most->share;
  found.what = fmt::format("The way from {} to {} is busy for {} of the call.", most->from, most->to,
                           insightPercent(found.figure));
  found.page = "system";
  found.advice = input.training()
                     ? "Send less over it: cut the model elsewhere, use 16-bit types, or accumulate "
                       "more micro-batches before gradients are summed."
                     : "Send less over it: divide the model otherwise, or use smaller types.";
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(saturated_links) {
  registry.add(
      {"saturated_links", "time with a transfer ÷ length of the call", 0.7, false, findSaturatedLinks});
}

}  // namespace pipescope::analysis
