// Devices wait for the host.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"
#include "profiler/base/number_text.h"

namespace pipescope::analysis {
namespace {

/// True if the host needs time for each weight update or sample, which longer calls do not save.
bool needsTimeForSteps(const InsightInput& input) {
  const auto isAbove0 = [&](const char* key) {
    const std::optional<double> value = base::numberOf(input.option(key));
    return value && *value > 0;
  };
  return isAbove0("host.seconds_per_step") || isAbove0("host.seconds_per_sample");
}

std::vector<Insight> findHostWaits(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  found.figure = timeShares(input.execution).host;
  if (!rule.exceeds(found.figure)) return {};
  found.share = found.figure;
  found.what = fmt::format("The devices wait for the host for {} of the call.", insightPercent(found.figure));
  found.page = "waits";
  if (needsTimeForSteps(input)) {
    found.advice =
        "The host works for each weight update: give an update more micro-batches, make the host's loop "
        "shorter, "
        "or use more processes.";
    if (input.training() && input.executable.microBatches > 0)
      found.alternatives = {
          {{"training.gradient_accumulation", fmt::format("{}", 2 * input.executable.microBatches)}}};
    return {found};
  }
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
