#include "profiler/analysis/pipeline/memory_use.h"

#include "profiler/analysis/model/flop_use.h"

namespace pipescope::analysis {

MemoryUse memoryUse(const Catalog& catalog, const Execution& execution, const FlopUse& flops) {
  MemoryUse use;
  const auto figure = [&](const char* name) {
    return figureValue(catalog.property(std::string("figure.") + name), "B/s").value_or(0);
  };
  const double peak = figure("hbm_bandwidth");
  double bytes = 0, computing = 0, total = 0;  // seconds
  for (const DeviceExecution& device : execution.devices) {
    if (!device.holdsStage || device.clockHz <= 0) continue;
    const auto seconds = [&](Ticks ticks) {
      return static_cast<double>(ticks.count) / static_cast<double>(device.clockHz);
    };
    bytes += static_cast<double>(device.computeBytes.count);
    computing += seconds(device.ofKind(model::StepKind::compute));
    total += seconds(device.total);
  }
  if (!(peak > 0) || !(bytes > 0) || !(total > 0)) return use;
  use.share = bytes / peak / total;
  const double sustained = figure("hbm_effective") > 0 ? figure("hbm_effective") : peak,
               moving = bytes / sustained;
  const double arithmetic =
      flops.peakPerDevice > 0 ? (flops.modelFlops + flops.recomputeFlops) / flops.peakPerDevice : 0;
  use.holdsUp = moving > computing / 2 && moving > arithmetic;
  return use;
}

}  // namespace pipescope::analysis
