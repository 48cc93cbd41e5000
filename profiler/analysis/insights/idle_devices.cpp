// Devices of the system hold no stage.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/analysis/insights/insight.h"

namespace pipescope::analysis {
namespace {

std::vector<Insight> findIdleDevices(const InsightInput& input, const InsightRule& rule) {
  const std::int64_t all = input.target.devices, used = input.target.devicesUsed;
  if (all <= 0 || used <= 0 || !rule.exceeds(static_cast<double>(all - used) / static_cast<double>(all)))
    return {};
  Insight found;
  found.figure = static_cast<double>(all - used) / static_cast<double>(all);
  found.what = fmt::format("{} of the {} devices of {} hold no stage.", all - used, all, input.target.name);
  found.page = "system";
  found.advice = "Use them for more replicas or more stages, or choose a smaller system.";
  // More replicas of what does not fit would not fit either.
  const DeviceMemory* fullest = fullestMemory(input.memory);
  if (fullest != nullptr && fillOf(*fullest) > 1) return {found};
  const std::int64_t each = used / std::max<std::int64_t>(1, input.executable.replicas);
  if (each > 0 && all / each > input.executable.replicas) {
    found.alternatives = {{{input.table() + "replication_factor", fmt::format("{}", all / each)}}};
  }
  return {found};
}

}  // namespace

PIPESCOPE_REGISTER_INSIGHT(idle_devices) {
  registry.add(
      {"idle_devices", "devices without a stage ÷ devices of the system", 0, false, findIdleDevices});
}

}  // namespace pipescope::analysis
