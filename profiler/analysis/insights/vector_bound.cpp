// Elementwise work takes longer than products.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

using model::LaneRole;

std::vector<Insight> findVectorBound(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  const DeviceExecution* worst = nullptr;
  double products = 0;
  for (const DeviceExecution& device : input.execution.devices) {
    const auto shareOf = [&](LaneRole role) {
      const auto lane = device.byLane.find(role);
      if (lane == device.byLane.end() || device.total.count <= 0) return 0.0;
      return static_cast<double>(lane->second.count) / static_cast<double>(device.total.count);
    };
    const double vector = shareOf(LaneRole::vector), matrix = shareOf(LaneRole::matrix);
    if (vector <= matrix || vector <= found.figure) continue;
    found.figure = vector;
    products = matrix;
    worst = &device;
  }
  if (worst == nullptr || !rule.exceeds(found.figure)) return {};
  found.share = found.figure - products;
  found.what =
      fmt::format("{}: {} works for {} of the call, {} for {}, so elementwise work holds the products up.",
                  worst->name, input.laneTitle(LaneRole::vector), insightPercent(found.figure),
                  input.laneTitle(LaneRole::matrix), insightPercent(products));
  found.page = "engines";
  found.device = worst->index;
  found.lane = input.laneTitle(LaneRole::vector);
  found.advice = "Use a 16-bit type, and fused operations such as fused attention and optimizers.";
  if (input.option("execution.precision") == "float32")
    found.alternatives = {{{"execution.precision", input.halfType}}};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(vector_bound) {
  registry.add(
      {"tpc_bound",
       "time in which the vector engines work ÷ length of the call, where it is more than that of the "
       "matrix engines",
       0.4, false, findVectorBound});
}

}  // namespace pipescope::analysis
