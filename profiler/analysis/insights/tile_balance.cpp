// Many tiles are idle while others compute.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findTileBalance(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  const DeviceExecution* worst = nullptr;
  for (const DeviceExecution& device : input.execution.devices) {
    if (!input.hasUnits() || !device.placed || device.tileBalance <= 0) continue;
    if (worst != nullptr && device.tileBalance >= worst->tileBalance) continue;
    worst = &device;
  }
  if (worst == nullptr || !rule.exceeds(worst->tileBalance)) return {};
  found.figure = worst->tileBalance;
  const auto total = static_cast<double>(std::max<std::int64_t>(1, worst->total.count));
  const auto compute = static_cast<double>(worst->ofKind(model::StepKind::compute).count);
  found.share = (1 - found.figure) * compute / total;
  found.what = fmt::format(
      "While {} computes, its tiles work for {} of the time on average: the work does not "
      "spread over all of them.",
      worst->name, insightPercent(found.figure));
  found.page = "execution";
  found.device = worst->index;
  found.lane = "compute";
  found.advice = "Give each operation more work, with larger micro-batches or fewer devices.";
  if (const auto larger = microBatchTimes(input, 2, 1)) found.alternatives = {*larger};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(tile_balance) {
  registry.add(
      {"tile_balance", "mean ÷ slowest tile's time, over compute steps", 0.5, true, findTileBalance});
}

}  // namespace pipescope::analysis
