#include "profiler/analysis/trace.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "profiler/analysis/trace_segment.h"

namespace pipescope::analysis {
namespace {

template <class Row>
bool meets(const model::BlockInfo& block, Ticks start, Ticks end, bool sameTimebase) {
  return !sameTimebase || !block.hasTime || (block.start <= end && block.end >= start);
}

class Loader {
 public:
  Loader(const model::ProfileSource& source, const Catalog& catalog, const TraceRequest& request,
         base::Progress& progress)
      : source_(source),
        catalog_(catalog),
        request_(request),
        progress_(progress),
        trace_(std::make_shared<Trace>()),
        names_(trace_->names) {}

  Result<std::shared_ptr<const Trace>> load() {
    trace_->executable = request_.executable;
    takeRuns();
    takeDevices();
    takeSegments();
    PIPESCOPE_TRY(readSteps());
    PIPESCOPE_TRY(readPlacements());
    PIPESCOPE_TRY(readWaits());
    PIPESCOPE_TRY(readTransfers());
    for (DeviceTrace& device : trace_->devices) finishDevice(device);
    for (TraceSegment& segment : trace_->segments) {
      if (segment.flame.empty()) sumSegment(segment, 1);
    }
    indexPlacements();
    findIterations();
    return std::shared_ptr<const Trace>(std::move(trace_));
  }

 private:
  void takeRuns() {
    std::vector<const model::Run*> runs;
    if (request_.firstRun.valid()) {
      for (const model::Run* run : catalog_.runsOf(request_.executable)) {
        if (run->id >= request_.firstRun && run->id <= std::max(request_.firstRun, request_.lastRun))
          runs.push_back(run);
      }
    } else if (const model::Run* last = catalog_.lastRunOf(request_.executable)) {
      runs.push_back(last);
    }
    for (const model::Run* run : runs) {
      trace_->start = trace_->runs.empty() ? run->start : std::min(trace_->start, run->start);
      trace_->end = trace_->runs.empty() ? run->end : std::max(trace_->end, run->end);
      trace_->runs.push_back(*run);
      wanted_.insert(run->id);
    }
  }

  void takeDevices() {
    if (!catalog_.devices.empty())
      trace_->ticksPerSecond = std::max<std::int64_t>(1, catalog_.devices.front().ticksPerSecond);
    for (const model::Device& row : catalog_.devices) {
      DeviceTrace device;
      device.id = row.id;
      device.name = row.name;
      device.kind = row.kind;
      device.unitName = row.unitName;
      device.units = std::max<std::int64_t>(1, row.units);
      device.ticksPerSecond = std::max<std::int64_t>(1, row.ticksPerSecond);
      device.axisTicksPerTick =
          static_cast<double>(trace_->ticksPerSecond) / static_cast<double>(device.ticksPerSecond);
      sameTimebase_ = sameTimebase_ && device.ticksPerSecond == trace_->ticksPerSecond;
      deviceIndex_[row.id] = static_cast<std::int32_t>(trace_->devices.size());
      trace_->devices.push_back(std::move(device));
    }
    for (const model::Stage* stage : catalog_.stagesOf(request_.executable)) {
      if (DeviceTrace* device = deviceOf(stage->device)) device->stages.push_back(stage->index);
    }
    for (const model::Lane& lane : catalog_.lanes) {
      const auto found = deviceIndex_.find(lane.device);
      if (found == deviceIndex_.end()) continue;
      trace_->lanes[lane.id] = found->second;
      trace_->laneNames[lane.id] = model::toString(lane.role);
    }
    placements_.resize(trace_->devices.size());
    waits_.resize(trace_->devices.size());
  }

  DeviceTrace* deviceOf(model::DeviceId id) {
    const auto found = deviceIndex_.find(id);
    return found == deviceIndex_.end() ? nullptr : &trace_->devices[static_cast<std::size_t>(found->second)];
  }

  Ticks toAxis(const DeviceTrace& device, Ticks ticks) const {
    if (device.ticksPerSecond == trace_->ticksPerSecond) return ticks;
    return base::convertRoundUp(ticks, {device.ticksPerSecond}, trace_->timebase());
  }

  void takeSegments() {
    for (const model::Segment& row : catalog_.segments) {
      if (row.executable != request_.executable) continue;
      segmentIndex_[row.id] = static_cast<std::int32_t>(trace_->segments.size());
      TraceSegment segment;
      segment.id = row.id;
      segment.name = row.name;
      segment.pass = row.pass;
      segment.stage = row.stage;
      segment.lane = row.lane;
      segment.ticks = std::max(Ticks(0), row.ticks);
      trace_->segments.push_back(std::move(segment));
      segmentDevice_.push_back(row.device);
    }
  }

  base::Status readSteps() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      PIPESCOPE_TRY(report(0.3, i, blocks.size(), "reading steps"));
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(i));
      for (const model::Step& step : *rows) {
        const auto found = segmentIndex_.find(step.segment);
        if (found == segmentIndex_.end()) continue;
        if (step.offset.count < 0 || step.ticks.count < 0) {
          ++trace_->damagedRows;
          continue;
        }
        trace_->segments[static_cast<std::size_t>(found->second)].steps.push_back(step);
      }
    }
    for (TraceSegment& segment : trace_->segments) {
      std::stable_sort(segment.steps.begin(), segment.steps.end(),
                       [](const auto& a, const auto& b) { return a.offset < b.offset; });
    }
    return {};
  }

  base::Status readPlacements() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Placement>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      PIPESCOPE_TRY(report(0.5, i, blocks.size(), "reading placements"));
      if (!meets<model::Placement>(blocks[i], trace_->start, trace_->end, sameTimebase_)) continue;
      PIPESCOPE_ASSIGN(const model::Rows<model::Placement> rows, source_.block<model::Placement>(i));
      for (const model::Placement& row : *rows) takePlacement(row);
    }
    return {};
  }

  void takePlacement(const model::Placement& row) {
    if (wanted_.count(row.run) == 0) return;
    const DeviceTrace* device = deviceOf(row.device);
    if (device == nullptr || row.end < row.start) {
      ++trace_->damagedRows;
      return;
    }
    TracePlacement placement;
    placement.id = row.id;
    placement.start = toAxis(*device, row.start);
    placement.end = toAxis(*device, row.end);
    const auto segment = segmentIndex_.find(row.segment);
    if (segment != segmentIndex_.end()) placement.segment = segment->second;
    placement.run = row.run;
    placement.replica = row.replica;
    placement.stage = row.stage;
    placement.microBatch = row.microBatch;
    placement.iteration = row.iteration;
    placement.slot = row.slot;
    placement.pass = row.pass;
    placements_[static_cast<std::size_t>(deviceIndex_[row.device])].push_back(placement);
  }

  base::Status readWaits() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Wait>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      PIPESCOPE_TRY(report(0.7, i, blocks.size(), "reading waits"));
      if (!meets<model::Wait>(blocks[i], trace_->start, trace_->end, sameTimebase_)) continue;
      PIPESCOPE_ASSIGN(const model::Rows<model::Wait> rows, source_.block<model::Wait>(i));
      for (model::Wait row : *rows) {
        if (wanted_.count(row.run) == 0) continue;
        const DeviceTrace* device = deviceOf(row.device);
        if (device == nullptr || row.end < row.start) {
          ++trace_->damagedRows;
          continue;
        }
        row.start = toAxis(*device, row.start);
        row.end = toAxis(*device, row.end);
        waits_[static_cast<std::size_t>(deviceIndex_[row.device])].push_back(row);
      }
    }
    return {};
  }

  base::Status readTransfers() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Transfer>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      PIPESCOPE_TRY(report(0.8, i, blocks.size(), "reading transfers"));
      if (!meets<model::Transfer>(blocks[i], trace_->start, trace_->end, sameTimebase_)) continue;
      PIPESCOPE_ASSIGN(const model::Rows<model::Transfer> rows, source_.block<model::Transfer>(i));
      for (model::Transfer row : *rows) {
        if (wanted_.count(row.run) == 0) continue;
        const std::int32_t from = trace_->deviceOfLane(row.fromLane), to = trace_->deviceOfLane(row.toLane);
        if (row.end < row.start || (from < 0 && to < 0)) {
          ++trace_->damagedRows;
          continue;
        }
        const DeviceTrace& clock = trace_->devices[static_cast<std::size_t>(from >= 0 ? from : to)];
        row.start = toAxis(clock, row.start);
        row.end = toAxis(clock, row.end);
        trace_->transfers.push_back(row);
      }
    }
    std::stable_sort(trace_->transfers.begin(), trace_->transfers.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    shareTransfers();
    return {};
  }

  using LaneGroups = std::map<std::tuple<std::int32_t, bool, std::int32_t>, std::vector<TransferLane>>;

  /// Lanes per device, direction and peer, outgoing ones first.
  void shareTransfers() {
    LaneGroups groups;
    for (std::size_t i = 0; i < trace_->transfers.size(); ++i) {
      const model::Transfer& row = trace_->transfers[i];
      if (row.end == row.start) continue;
      const std::int32_t from = trace_->deviceOfLane(row.fromLane), to = trace_->deviceOfLane(row.toLane);
      if (from >= 0) addTransfer(groups[{from, false, to}], i, to, true);
      if (to >= 0) addTransfer(groups[{to, true, from}], i, from, false);
    }
    for (auto& [key, lanes] : groups) {
      auto& all = trace_->devices[static_cast<std::size_t>(std::get<0>(key))].transferLanes;
      for (TransferLane& lane : lanes) all.push_back(std::move(lane));
    }
  }

  /// On the first lane that is free.
  void addTransfer(std::vector<TransferLane>& lanes, std::size_t index, std::int32_t peer, bool outgoing) {
    const auto row = [&](std::int32_t i) -> const model::Transfer& {
      return trace_->transfers[static_cast<std::size_t>(i)];
    };
    const Ticks start = trace_->transfers[index].start;
    auto lane = std::find_if(lanes.begin(), lanes.end(),
                             [&](const TransferLane& l) { return row(l.transfers.back()).end <= start; });
    if (lane == lanes.end()) {
      if (lanes.size() >= TransferLane::kMost) {
        ++trace_->crowdedTransfers;
        return;
      }
      lane = lanes.insert(lanes.end(), TransferLane{});
      lane->outgoing = outgoing;
      if (peer >= 0) lane->peer = trace_->devices[static_cast<std::size_t>(peer)].id;
    }
    lane->transfers.push_back(static_cast<std::int32_t>(index));
  }

  /// Cuts the device's placements into tracks and gives each its rows.
  void finishDevice(DeviceTrace& device) {
    const auto index = static_cast<std::size_t>(deviceIndex_[device.id]);
    std::vector<TracePlacement>& placements = placements_[index];
    std::stable_sort(placements.begin(), placements.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    std::map<model::LaneId, TraceTrack> tracks;
    const bool byLane = lanesOverlap(placements);
    for (const TracePlacement& placement : placements) {
      const model::LaneId lane = byLane && placement.segment >= 0
                                     ? trace_->segments[static_cast<std::size_t>(placement.segment)].lane
                                     : model::LaneId();
      TraceTrack& track = tracks[lane];
      if (!track.placements.empty() && placement.start < track.placements.back().end) {
        ++trace_->damagedRows;
        continue;
      }
      track.lane = lane;
      track.placements.push_back(placement);
    }
    if (tracks.empty()) tracks[model::LaneId()];
    for (auto& [lane, track] : tracks) {
      if (const auto name = trace_->laneNames.find(lane); name != trace_->laneNames.end())
        track.name = name->second;
      device.tracks.push_back(std::move(track));
    }
    device.tracks.front().waits = std::move(waits_[index]);
    auto& waits = device.tracks.front().waits;
    std::stable_sort(waits.begin(), waits.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    for (TraceTrack& track : device.tracks) {
      findPasses(track);
      listActivities(device, track);
      layOutSteps(device, track);
    }
  }

  bool lanesOverlap(const std::vector<TracePlacement>& placements) const {
    for (std::size_t i = 1; i < placements.size(); ++i) {
      const TracePlacement &a = placements[i - 1], &b = placements[i];
      if (b.start >= a.end || a.segment < 0 || b.segment < 0) continue;
      if (trace_->segments[static_cast<std::size_t>(a.segment)].lane !=
          trace_->segments[static_cast<std::size_t>(b.segment)].lane)
        return true;
    }
    return false;
  }

  static void findPasses(TraceTrack& track) {
    for (std::size_t i = 0; i < track.placements.size(); ++i) {
      const TracePlacement& now = track.placements[i];
      if (!track.passes.empty()) {
        PassSpan& open = track.passes.back();
        const TracePlacement& before = track.placements[i - 1];
        const auto key = [](const TracePlacement& p) {
          return std::tie(p.run, p.iteration, p.stage, p.pass, p.microBatch, p.replica);
        };
        if (before.end == now.start && key(before) == key(now)) {
          open.end = now.end;
          ++open.placements;
          continue;
        }
      }
      track.passes.push_back({now.start, now.end, static_cast<std::int32_t>(i), 1});
    }
  }

  void listActivities(const DeviceTrace& device, TraceTrack& track) {
    std::vector<Activity> all;
    for (std::size_t i = 0; i < track.passes.size(); ++i) {
      all.push_back(
          {track.passes[i].start, track.passes[i].end, Activity::Kind::pass, static_cast<std::int32_t>(i)});
    }
    for (std::size_t i = 0; i < track.waits.size(); ++i) {
      all.push_back(
          {track.waits[i].start, track.waits[i].end, Activity::Kind::wait, static_cast<std::int32_t>(i)});
    }
    std::stable_sort(all.begin(), all.end(), byStart);
    for (const Activity& item : all) {
      if (item.end == item.start) continue;
      if (!track.activities.empty() && item.start < track.activities.back().end) {
        ++trace_->damagedRows;
        continue;
      }
      track.activities.push_back(item);
    }
    if (&track == &device.tracks.front()) addTransferTime(device, track.activities);
  }

  static bool byStart(const Activity& a, const Activity& b) { return a.start < b.start; }

  /// What is left between passes and waits, where transfers take the device.
  void addTransferTime(const DeviceTrace& device, std::vector<Activity>& activities) const {
    std::vector<std::int32_t> transfers;
    for (const TransferLane& lane : device.transferLanes) {
      transfers.insert(transfers.end(), lane.transfers.begin(), lane.transfers.end());
    }
    std::sort(transfers.begin(), transfers.end());  // by start, as Trace::transfers is
    std::vector<Activity> moving;
    for (const std::int32_t index : transfers) {
      const model::Transfer& row = trace_->transfers[static_cast<std::size_t>(index)];
      if (moving.empty() || row.start >= moving.back().end) {
        moving.push_back({row.start, row.end, Activity::Kind::transfer, index});
        continue;
      }
      const model::Transfer& longest = trace_->transfers[static_cast<std::size_t>(moving.back().index)];
      if (row.end - row.start > longest.end - longest.start) moving.back().index = index;
      moving.back().end = std::max(moving.back().end, row.end);
    }
    std::vector<Activity> rest;
    std::size_t next = 0;
    for (Activity piece : moving) {
      while (next < activities.size() && activities[next].end <= piece.start) ++next;
      for (std::size_t i = next; i < activities.size() && activities[i].start < piece.end; ++i) {
        if (activities[i].start > piece.start)
          rest.push_back({piece.start, activities[i].start, piece.kind, piece.index});
        piece.start = std::max(piece.start, activities[i].end);
      }
      if (piece.start < piece.end) rest.push_back(piece);
    }
    const auto before = static_cast<std::ptrdiff_t>(activities.size());
    activities.insert(activities.end(), rest.begin(), rest.end());
    std::inplace_merge(activities.begin(), activities.begin() + before, activities.end(), byStart);
  }

  void layOutSteps(const DeviceTrace& device, TraceTrack& track) {
    std::vector<std::size_t> used;
    std::set<model::LaneId> lanes;
    bool sequential = true;
    for (std::size_t i = 0; i < trace_->segments.size(); ++i) {
      const TraceSegment& segment = trace_->segments[i];
      if (segmentDevice_[i] != device.id || (track.lane.valid() && segment.lane != track.lane) ||
          segment.steps.empty())
        continue;
      used.push_back(i);
      sequential = sequential && isSequential(segment.steps);
      for (const model::Step& step : segment.steps) lanes.insert(step.lane);
    }
    track.flatLanes.assign(lanes.begin(), lanes.end());
    if (sequential) {
      track.flameLanes.push_back({});
    } else {
      for (const model::LaneId lane : lanes) track.flameLanes.push_back({lane, 0});
    }
    for (const std::size_t i : used) layOutSegment(device, track, trace_->segments[i]);
  }

  void layOutSegment(const DeviceTrace& device, TraceTrack& track, TraceSegment& segment) {
    std::vector<std::string> paths;
    segment.stepNames.clear();
    for (const model::Step& step : segment.steps) {
      paths.push_back(pathOf(step));
      segment.stepNames.push_back(names_.indexOf(paths.back()));
    }
    for (FlameLane& lane : track.flameLanes) {
      segment.flame.push_back(flameRows(segment, lane.lane, paths, names_));
      lane.depth = std::max(lane.depth, static_cast<std::int32_t>(segment.flame.back().size()));
    }
    for (const model::LaneId lane : track.flatLanes)
      segment.flat.push_back(flatRow(segment, lane, paths, names_));
    sumSegment(segment, device.units);
  }

  /// The name path of a step; its program's kind where it has no name.
  std::string pathOf(const model::Step& step) {
    const auto index = static_cast<std::size_t>(step.program.value);
    if (!step.program.valid() || index >= catalog_.programs.size()) return {};
    const model::Program& program = catalog_.programs[index];
    auto [place, added] = paths_.try_emplace(program.debugContext);
    if (added) place->second = catalog_.namePath(program.debugContext);
    return place->second.empty() ? program.kind : place->second;
  }

  void indexPlacements() {
    for (std::size_t d = 0; d < trace_->devices.size(); ++d) {
      for (std::size_t t = 0; t < trace_->devices[d].tracks.size(); ++t) {
        const std::vector<TracePlacement>& placements = trace_->devices[d].tracks[t].placements;
        for (std::size_t i = 0; i < placements.size(); ++i) {
          trace_->places.push_back(
              {placements[i].id,
               {static_cast<std::int32_t>(d), static_cast<std::int32_t>(t), static_cast<std::int32_t>(i)}});
        }
      }
    }
    std::sort(trace_->places.begin(), trace_->places.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  void findIterations() {
    std::map<std::pair<model::RunId, std::int32_t>, IterationSpan> spans;
    const auto extend = [&](model::RunId run, std::int32_t iteration, Ticks start, Ticks end) {
      if (iteration < 0) return;
      const auto [place, added] =
          spans.try_emplace({run, iteration}, IterationSpan{run, iteration, start, end});
      place->second.start = std::min(place->second.start, start);
      place->second.end = std::max(place->second.end, end);
    };
    for (const DeviceTrace& device : trace_->devices) {
      for (const TraceTrack& track : device.tracks) {
        for (const TracePlacement& p : track.placements) extend(p.run, p.iteration, p.start, p.end);
      }
    }
    for (const model::Transfer& row : trace_->transfers) extend(row.run, row.iteration, row.start, row.end);
    for (const auto& [key, span] : spans) trace_->iterations.push_back(span);
    std::sort(trace_->iterations.begin(), trace_->iterations.end(),
              [](const auto& a, const auto& b) { return a.start < b.start; });
  }

  base::Status report(double from, std::size_t block, std::size_t blocks, const char* what) {
    if (progress_.cancelled()) return base::cancelled("Reading the trace was stopped.");
    progress_.report(from + 0.1 * static_cast<double>(block) / static_cast<double>(blocks), what);
    return {};
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  const TraceRequest request_;
  base::Progress& progress_;
  std::shared_ptr<Trace> trace_;
  NameTable names_;
  bool sameTimebase_ = true;
  std::set<model::RunId> wanted_;
  std::unordered_map<model::DeviceId, std::int32_t> deviceIndex_;
  std::unordered_map<model::SegmentId, std::int32_t> segmentIndex_;
  std::vector<model::DeviceId> segmentDevice_;
  std::vector<std::vector<TracePlacement>> placements_;
  std::vector<std::vector<model::Wait>> waits_;
  std::unordered_map<model::DebugContextId, std::string> paths_;
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
