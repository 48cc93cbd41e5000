// Tensors are off the chip although they would fit on it.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findOffload(const InsightInput& input, const InsightRule& rule) {
  Insight found;
  for (const DeviceExecution& device : input.execution.devices) {
    if (device.total.count <= 0) continue;
    const double share = static_cast<double>(device.ofKind(model::StepKind::remoteCopy).count) /
                         static_cast<double>(device.total.count);
    if (share <= found.figure) continue;
    found.figure = share;
    found.device = device.index;
  }
  if (!rule.exceeds(found.figure)) return {};
  std::int64_t away = 0, room = 0;
  for (const DeviceMemory& other : input.memory.others) {
    if (other.index >= 0) away += other.total.count;
  }
  for (const DeviceMemory& memory : input.memory.devices)
    room += memory.bytesPerUnit.count * memory.units - memory.totalIncludingGaps.count;
  // Memory of tiles cannot be filled to the last byte.
  constexpr double kUsable = 0.8;
  if (away <= 0 || static_cast<double>(away) > kUsable * static_cast<double>(room)) return {};
  InsightChanges changes;
  for (const char* what : {"optimizer", "weights", "activations", "accumulators"}) {
    const std::string key = fmt::format("execution.offload_{}", what);
    if (input.option(key) == "true") changes.push_back({key, "false"});
  }
  found.share = found.figure;
  found.what = fmt::format(
      "Loads and stores of off-chip memory take {} of the call, but what lies there ({:.3g} MB) "
      "has room on the devices.",
      insightPercent(found.figure), static_cast<double>(away) / 1e6);
  found.page = "memory";
  found.advice = "Keep it on the chip.";
  if (!changes.empty()) found.alternatives = {changes};
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(offload) {
  registry.add({"offload", "loads and stores ÷ length of the call, on the device where it is most", 0.05,
                false, findOffload});
}

}  // namespace pipescope::analysis
