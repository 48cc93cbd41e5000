// Devices wait for the host.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findHostWaits(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  found.figure = timeShares(input.execution).host;
  if (!rule.exceeds(found.figure)) return {};
  found.share = found.figure;
  found.what = fmt::format("The devices wait for the host for {} of the call.", insightPercent(found.figure));
  found.page = "waits";
  found.advice = "Let one call do more iterations, prepare data faster, or use more workers.";
  if (input.executable.deviceIterations > 0) {
    found.alternatives = {
        {{input.table() + "device_iterations", fmt::format("{}", 10 * input.executable.deviceIterations)}}};
  }
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(host_waits) {
  registry.add({"host_waits", "waits for the host ÷ time of all devices that hold a stage", 0.1, false,
                findHostWaits});
}

}  // namespace pipescope::analysis
