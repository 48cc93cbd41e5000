#include "profiler/analysis/pipeline/engines.h"

#include <algorithm>
#include <utility>

#include "profiler/analysis/run_rows.h"

namespace pipescope::analysis {
namespace {

using Intervals = std::vector<std::pair<Ticks, Ticks>>;

Ticks enginesUnionLength(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Ticks length, reached{INT64_MIN};
  for (const auto& [start, end] : intervals) {
    const Ticks from = std::max(start, reached);
    if (end > from) length += end - from;
    reached = std::max(reached, end);
  }
  return length;
}

/// What one placement of a segment does on each lane: lanes are exclusive, so steps of one add up to their
/// union.
struct SegmentLanes {
  std::map<model::LaneRole, Ticks> busy;
  Ticks any;
};

model::LaneRole enginesRoleOf(const Catalog& catalog, model::LaneId lane) {
  const auto index = static_cast<std::size_t>(lane.value);
  return lane.valid() && index < catalog.lanes.size() ? catalog.lanes[index].role : model::LaneRole::compute;
}

Result<std::vector<SegmentLanes>> lanesOfSegments(const model::ProfileSource& source,
                                                  const Catalog& catalog) {
  std::vector<SegmentLanes> lanes(catalog.segments.size());
  std::vector<Intervals> intervals(lanes.size());
  PIPESCOPE_ASSIGN(const model::Rows<model::Step> steps, source.rows<model::Step>());
  for (const model::Step& step : *steps) {
    const auto index = static_cast<std::size_t>(step.segment.value);
    if (!step.segment.valid() || index >= lanes.size()) continue;
    lanes[index].busy[enginesRoleOf(catalog, step.lane)] += step.ticks;
    intervals[index].push_back({step.offset, step.offset + step.ticks});
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const model::Segment& segment = catalog.segments[i];
    if (intervals[i].empty()) {
      lanes[i].busy[enginesRoleOf(catalog, segment.lane)] = lanes[i].any = segment.ticks;
    } else {
      lanes[i].any = enginesUnionLength(std::move(intervals[i]));
    }
  }
  return lanes;
}

struct EnginesDeviceSums {
  DeviceEngines result;
  bool placed = false;
  Intervals communication;
};

void addTransfers(const Catalog& catalog, const std::vector<model::Transfer>& transfers,
                  std::vector<EnginesDeviceSums>& sums) {
  std::vector<std::map<model::LaneRole, Intervals>> lanes(sums.size());
  for (const model::Transfer& transfer : transfers) {
    for (const model::LaneId lane : {transfer.fromLane, transfer.toLane}) {
      const auto index = static_cast<std::size_t>(lane.value);
      if (!lane.valid() || index >= catalog.lanes.size()) continue;
      const auto device = static_cast<std::size_t>(catalog.lanes[index].device.value);
      if (device >= sums.size()) continue;
      lanes[device][catalog.lanes[index].role].push_back({transfer.start, transfer.end});
      sums[device].communication.push_back({transfer.start, transfer.end});
    }
  }
  for (std::size_t device = 0; device < sums.size(); ++device) {
    for (auto& [role, intervals] : lanes[device])
      sums[device].result.busy[role] += enginesUnionLength(std::move(intervals));
  }
}

}  // namespace

Result<std::vector<DeviceEngines>> engines(const model::ProfileSource& source, const Catalog& catalog,
                                           model::ExecutableId executable) {
  std::vector<DeviceEngines> result;
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return result;
  PIPESCOPE_ASSIGN(const std::vector<SegmentLanes> segments, lanesOfSegments(source, catalog));
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> placements, rowsOfRun<model::Placement>(source, *run));
  PIPESCOPE_ASSIGN(const std::vector<model::Transfer> transfers, rowsOfRun<model::Transfer>(source, *run));
  PIPESCOPE_ASSIGN(const std::vector<model::Wait> waits, rowsOfRun<model::Wait>(source, *run));
  std::vector<EnginesDeviceSums> sums(catalog.devices.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].result.device = static_cast<int>(i);
    sums[i].result.total = base::convertRoundUp(run->end - run->start, catalog.timebase({}),
                                                base::Timebase{catalog.devices[i].ticksPerSecond});
  }
  for (const model::Placement& placement : placements) {
    const auto device = static_cast<std::size_t>(placement.device.value),
               segment = static_cast<std::size_t>(placement.segment.value);
    if (device >= sums.size() || segment >= segments.size()) continue;
    sums[device].placed = true;
    for (const auto& [role, ticks] : segments[segment].busy) sums[device].result.busy[role] += ticks;
    if (placement.pass == model::Pass::collective) {
      sums[device].communication.push_back({placement.start, placement.end});
    } else {
      sums[device].result.anyBusy += segments[segment].any;
    }
  }
  addTransfers(catalog, transfers, sums);
  for (const model::Wait& wait : waits) {
    const auto device = static_cast<std::size_t>(wait.device.value);
    if (device < sums.size() &&
        (wait.cause == model::WaitCause::collective || wait.cause == model::WaitCause::exchange))
      sums[device].result.exposed += wait.end - wait.start;
  }
  for (EnginesDeviceSums& device : sums) {
    if (!device.placed) continue;
    device.result.communicating = enginesUnionLength(std::move(device.communication));
    result.push_back(std::move(device.result));
  }
  return result;
}

}  // namespace pipescope::analysis
