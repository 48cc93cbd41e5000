// Ranks of an imported trace wait at collectives for the last one.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findLateRanks(const InsightInput& input, const InsightRule& rule) {
  double all = 0, waited = 0;
  std::map<model::DeviceId, std::int64_t> last;
  for (const AcceleratorTimes& device : input.recorded.devices)
    all += static_cast<double>((device.end - device.start).count);
  for (const MatchedCollective& collective : input.recorded.collectives) {
    waited += static_cast<double>(collective.waited.count);
    ++last[collective.last];
  }
  if (all <= 0 || last.empty() || !rule.exceeds(waited / all)) return {};
  const auto latest = std::ranges::max_element(last, {}, [](const auto& entry) { return entry.second; });
  Insight found = recordedFinding(waited / all, latest->first, "collectives");
  found.what = fmt::format(
      "For {} of their time, ranks wait at collectives for the last one to arrive, which is {} at {} of {}.",
      insightPercent(found.figure), input.deviceName(found.device), latest->second,
      input.recorded.collectives.size());
  found.advice =
      "Find out what delays the rank that arrives last: more work than the others have, its device, or its "
      "host.";
  found.noAlternative = "Section stragglers replays steps whose passes were recognised.";
  found.boundText = "if all ranks arrived together";
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(late_ranks) {
  registry.add({"late_ranks", "waits for the last rank of a collective ÷ time of all ranks", 0.05, false,
                findLateRanks});
}

}  // namespace pipescope::analysis
