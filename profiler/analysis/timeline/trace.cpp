#include "profiler/analysis/timeline/trace.h"

#include <algorithm>

#include "profiler/analysis/device_places.h"
#include "profiler/analysis/timeline/alike_devices.h"
#include "profiler/analysis/timeline/trace_draft.h"
#include "profiler/base/short_names.h"

namespace pipescope::analysis {
namespace {

class Loader {
 public:
  Loader(const model::ProfileSource& source, const Catalog& catalog, const TraceRequest& request,
         base::Progress& progress)
      : draft_(source, catalog, request, progress) {
    if (request.large) draft_.names.take(request.large->names);
  }

  Result<std::shared_ptr<const Trace>> load() {
    draft_.trace->executable = draft_.request.executable;
    takeRuns();
    takeDevices();
    takeSegments();
    PIPESCOPE_TRY(takeCollectives());
    PIPESCOPE_TRY(chooseDetail());
    PIPESCOPE_TRY(readTraceRows(draft_));
    PIPESCOPE_TRY(readTraceSteps(draft_));
    layOutTrace(draft_);
    PIPESCOPE_TRY(findTraceIterations(draft_));
    return std::shared_ptr<const Trace>(std::move(draft_.trace));
  }

 private:
  void takeRuns() {
    std::vector<const model::Run*> runs;
    if (draft_.request.firstRun.valid()) {
      for (const model::Run* run : draft_.catalog.runsOf(draft_.request.executable)) {
        if (run->id >= draft_.request.firstRun &&
            run->id <= std::max(draft_.request.firstRun, draft_.request.lastRun))
          runs.push_back(run);
      }
    } else if (const model::Run* last = draft_.catalog.lastRunOf(draft_.request.executable)) {
      runs.push_back(last);
    }
    for (const model::Run* run : runs) {
      draft_.trace->start =
          draft_.trace->runs.empty() ? run->start : std::min(draft_.trace->start, run->start);
      draft_.trace->end = draft_.trace->runs.empty() ? run->end : std::max(draft_.trace->end, run->end);
      draft_.trace->runs.push_back(*run);
      draft_.wanted.insert(run->id);
    }
  }

  std::string laneNameOf(const model::Lane& lane, const DeviceTrace& device) const {
    return draft_.catalog.measured() ? base::withoutPartsOf(device.name, lane.name)
                                     : draft_.catalog.laneTitle(lane.role);
  }

  void takeDevices() {
    if (!draft_.catalog.devices.empty())
      draft_.trace->ticksPerSecond = std::max<std::int64_t>(1, draft_.catalog.devices.front().ticksPerSecond);
    for (const model::Device& row : draft_.catalog.devices) {
      DeviceTrace device;
      device.id = row.id;
      device.name = row.name;
      device.kind = row.kind;
      device.unitName = row.unitName;
      device.units = std::max<std::int64_t>(1, row.units);
      device.ticksPerSecond = std::max<std::int64_t>(1, row.ticksPerSecond);
      device.axisTicksPerTick =
          static_cast<double>(draft_.trace->ticksPerSecond) / static_cast<double>(device.ticksPerSecond);
      draft_.sameTimebase = draft_.sameTimebase && device.ticksPerSecond == draft_.trace->ticksPerSecond;
      draft_.deviceIndex[row.id] = static_cast<std::int32_t>(draft_.trace->devices.size());
      draft_.trace->devices.push_back(std::move(device));
    }
    std::vector<std::string> names;
    for (const DeviceTrace& each : draft_.trace->devices) names.push_back(each.name);
    names = base::shortNames(names);
    for (std::size_t d = 0; d < names.size(); ++d) draft_.trace->devices[d].shortName = names[d];
    if (draft_.catalog.measured())
      draft_.trace->recordedRanks = draft_.catalog.widthOf(draft_.request.executable);
    auto device = draft_.trace->devices.begin();
    for (const DevicePlace& place : devicePlaces(draft_.catalog, draft_.request.executable)) {
      device->stages = place.stages;
      device->replica = place.replica;
      device->rank = place.rank;
      draft_.trace->ranks = std::max<std::int64_t>(draft_.trace->ranks, place.rank + 1);
      draft_.trace->replicas = std::max<std::int64_t>(draft_.trace->replicas, place.replica + 1);
      ++device;
    }
    const std::vector<std::int32_t> alike = alikeDevices(draft_.catalog, draft_.request.executable);
    for (std::size_t d = 0; d < alike.size(); ++d) draft_.trace->devices[d].alike = alike[d];
    for (const model::Lane& lane : draft_.catalog.lanes) {
      const auto found = draft_.deviceIndex.find(lane.device);
      if (found == draft_.deviceIndex.end()) continue;
      draft_.lanes[lane.device].push_back(&lane);
      draft_.trace->lanes[lane.id] = found->second;
      draft_.trace->laneNames[lane.id] =
          laneNameOf(lane, draft_.trace->devices[static_cast<std::size_t>(found->second)]);
    }
    draft_.placements.resize(draft_.trace->devices.size());
    draft_.waits.resize(draft_.trace->devices.size());
  }

  void takeSegments() {
    for (const model::Segment& row : draft_.catalog.segments) {
      if (row.executable != draft_.request.executable) continue;
      draft_.segmentIndex[row.id] = static_cast<std::int32_t>(draft_.trace->segments.size());
      TraceSegment segment;
      segment.id = row.id;
      segment.name = row.name;
      segment.pass = row.pass;
      segment.stage = row.stage;
      segment.lane = row.lane;
      segment.ticks = std::max(Ticks(0), row.ticks);
      draft_.trace->segments.push_back(std::move(segment));
      draft_.segmentDevice.push_back(row.device);
    }
  }

  base::Status takeCollectives() {
    if (draft_.request.large) {
      draft_.trace->collectives = draft_.request.large->collectives;
      return {};
    }
    PIPESCOPE_ASSIGN(const auto rows, draft_.source.rows<model::Collective>());
    for (const model::Collective& row : *rows) draft_.trace->collectives.emplace(row.op, row);
    return {};
  }

  /// Decides which rows are read one by one, and whether the runs are so long that tracks and rows must not
  /// depend on the window.
  base::Status chooseDetail() {
    draft_.trace->loadedFrom = draft_.trace->start;
    draft_.trace->loadedTo = draft_.trace->end;
    if (draft_.request.large) {
      draft_.trace->loadedFrom = std::max(draft_.trace->start, draft_.request.from);
      draft_.trace->loadedTo = std::min(draft_.trace->end, draft_.request.to);
    }
    PIPESCOPE_ASSIGN(const std::int64_t placements, countRows<model::Placement>());
    PIPESCOPE_ASSIGN(const std::int64_t waits, countRows<model::Wait>());
    PIPESCOPE_ASSIGN(const std::int64_t transfers, countRows<model::Transfer>());
    PIPESCOPE_ASSIGN(const std::int64_t arrows, countArrows());
    draft_.withoutArrows = arrows > draft_.request.mostRows;
    const std::int64_t read = draft_.withoutArrows ? transfers - arrows : transfers;
    draft_.trace->far = std::max({placements, waits, read}) > draft_.request.mostRows;
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> steps, draft_.source.blocks<model::Step>());
    std::int64_t rows = 0;
    for (const model::BlockInfo& block : steps) rows += block.rows;
    draft_.trace->large = draft_.request.large || draft_.trace->far || rows > draft_.request.mostSteps;
    return {};
  }

  Result<std::int64_t> countArrows() const {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, draft_.source.blocks<model::Transfer>());
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].rows == 0 || !draft_.inWindow(blocks[i])) continue;
      PIPESCOPE_ASSIGN(const bool only, draft_.holdsArrowsOnly(i));
      rows += only ? blocks[i].rows : 0;
    }
    return rows;
  }

  template <class Row>
  Result<std::int64_t> countRows() const {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, draft_.source.blocks<Row>());
    std::int64_t rows = 0;
    for (const model::BlockInfo& block : blocks) rows += draft_.inWindow(block) ? block.rows : 0;
    return rows;
  }

  TraceDraft draft_;
};

}  // namespace

std::optional<PlacementPlace> Trace::find(model::PlacementId id) const {
  const auto found =
      std::lower_bound(places.begin(), places.end(), id,
                       [](const auto& entry, model::PlacementId wanted) { return entry.first < wanted; });
  if (found == places.end() || found->first != id) return std::nullopt;
  return found->second;
}

std::int32_t Trace::deviceIndex(model::DeviceId id) const {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].id == id) return static_cast<std::int32_t>(i);
  }
  return -1;
}

std::int32_t Trace::deviceOfLane(model::LaneId lane) const {
  const auto found = lanes.find(lane);
  return found == lanes.end() ? -1 : found->second;
}

Result<std::shared_ptr<const Trace>> loadTrace(const model::ProfileSource& source, const Catalog& catalog,
                                               const TraceRequest& request, base::Progress& progress) {
  if (catalog.executable(request.executable) == nullptr)
    return base::badInput("The profile has no such executable; choose one of those it lists.");
  return Loader(source, catalog, request, progress).load();
}

}  // namespace pipescope::analysis
