#include "profiler/analysis/timeline/recorded_statistics.h"

#include <cmath>

#include "profiler/analysis/pipeline/execution.h"

namespace pipescope::analysis {
namespace {

/// The times of a device in ticks of the axis.
RangeStatistics onAxis(const DeviceTimes& times, std::int32_t index, double axisTicksPerTick) {
  const auto axis = [axisTicksPerTick](std::int64_t ticks) {
    return axisTicksPerTick == 1 ? ticks : std::llround(static_cast<double>(ticks) * axisTicksPerTick);
  };
  RangeStatistics row;
  row.device = index;
  row.total = Ticks(axis(times.total.count));
  row.idle = Ticks(axis(times.idle.count));
  for (std::size_t kind = 0; kind < kStepKinds; ++kind) row.byKind[kind] = axis(times.byKind[kind]);
  row.streamIn = times.streamIn;
  row.streamOut = times.streamOut;
  row.globalIn = times.globalIn;
  row.globalOut = times.globalOut;
  row.parallelEfficiency = times.parallelEfficiency;
  return row;
}

}  // namespace

Result<std::vector<RangeStatistics>> recordedStatistics(const model::ProfileSource& source,
                                                        const Catalog& catalog, const Trace& trace,
                                                        Ticks from, Ticks to, base::Progress& progress) {
  std::vector<RangeStatistics> rows;
  if (trace.runs.empty()) return rows;
  PIPESCOPE_ASSIGN(const std::vector<DeviceTimes> devices,
                   recordedTimes(source, catalog, trace.runs.back(), from, to, progress));
  for (std::size_t d = 0; d < trace.devices.size() && d < devices.size(); ++d) {
    const DeviceTrace& device = trace.devices[d];
    if (device.recorded)
      rows.push_back(onAxis(devices[d], static_cast<std::int32_t>(d), device.axisTicksPerTick));
  }
  return rows;
}

}  // namespace pipescope::analysis
