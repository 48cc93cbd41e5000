// Elementwise work takes longer than products.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findTpcBound(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  const DeviceExecution* worst = nullptr;
  double products = 0;
  for (const DeviceExecution& device : input.execution.devices) {
    const auto shareOf = [&](model::LaneRole role) {
      const auto lane = device.byLane.find(role);
      if (lane == device.byLane.end() || device.total.count <= 0) return 0.0;
      return static_cast<double>(lane->second.count) / static_cast<double>(device.total.count);
    };
    const double tpc = shareOf(model::LaneRole::tpc), mme = shareOf(model::LaneRole::mme);
    if (tpc <= mme || tpc <= found.figure) continue;
    found.figure = tpc;
    products = mme;
    worst = &device;
  }
  if (worst == nullptr || !rule.exceeds(found.figure)) return {};
  found.share = found.figure - products;
  found.what = fmt::format(
      "The TPCs of {} work for {} of the call, the MME for {}: elementwise work holds the "
      "products up.",
      worst->name, insightPercent(found.figure), insightPercent(products));
  found.page = "engines";
  found.device = worst->index;
  found.lane = "TPC";
  found.advice = "Use a 16-bit type, and fused operations such as fused attention and optimizers.";
  if (input.option("execution.precision") == "float32")
    found.alternatives = {{{"execution.precision", input.halfType}}};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(tpc_bound) {
  registry.add({"tpc_bound",
                "time in which the TPCs work ÷ length of the call, where it is more than that of the MME",
                0.4, false, findTpcBound});
}

}  // namespace pipescope::analysis
