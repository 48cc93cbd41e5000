#include "profiler/analysis/trace.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "profiler/analysis/trace_levels.h"
#include "profiler/analysis/trace_segment.h"
#include "profiler/analysis/trace_tracks.h"

namespace pipescope::analysis {
namespace {

class Loader {
 public:
  Loader(const model::ProfileSource& source, const Catalog& catalog, const TraceRequest& request,
         base::Progress& progress)
      : source_(source),
        catalog_(catalog),
        request_(request),
        progress_(progress),
        trace_(std::make_shared<Trace>()),
        names_(trace_->names) {
    if (request.large) names_.take(request.large->names);
  }

  Result<std::shared_ptr<const Trace>> load() {
    trace_->executable = request_.executable;
    takeRuns();
    takeDevices();
    takeSegments();
    PIPESCOPE_TRY(chooseDetail());
    if (trace_->far) {
      PIPESCOPE_TRY(readFar());
    } else {
      PIPESCOPE_TRY(readPlacements());
      PIPESCOPE_TRY(readWaits());
      PIPESCOPE_TRY(readTransfers());
    }
    PIPESCOPE_TRY(readSteps());
    for (DeviceTrace& device : trace_->devices) finishDevice(device);
    for (TraceSegment& segment : trace_->segments) {
      if (segment.flame.empty()) sumSegment(segment, 1);
    }
    indexPlacements();
    PIPESCOPE_TRY(findIterations());
    return std::shared_ptr<const Trace>(std::move(trace_));
  }

 private:
  using LaneNodes = std::map<model::LaneId, std::vector<model::LevelNode>>;

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

  /// What is read one by one, and whether the runs are so long that rows must not depend on the window.
  base::Status chooseDetail() {
    trace_->loadedFrom = trace_->start;
    trace_->loadedTo = trace_->end;
    if (request_.large) {
      trace_->loadedFrom = std::max(trace_->start, request_.from);
      trace_->loadedTo = std::min(trace_->end, request_.to);
    }
    PIPESCOPE_ASSIGN(const std::int64_t placements, countRows<model::Placement>());
    PIPESCOPE_ASSIGN(const std::int64_t waits, countRows<model::Wait>());
    PIPESCOPE_ASSIGN(const std::int64_t transfers, countRows<model::Transfer>());
    trace_->far = std::max({placements, waits, transfers}) > request_.mostRows;
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> steps, source_.blocks<model::Step>());
    std::int64_t rows = 0;
    for (const model::BlockInfo& block : steps) rows += block.rows;
    trace_->large = request_.large || trace_->far || rows > request_.mostSteps;
    return {};
  }

  template <class Row>
  Result<std::int64_t> countRows() const {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<Row>());
    std::int64_t rows = 0;
    for (const model::BlockInfo& block : blocks) rows += inWindow(block) ? block.rows : 0;
    return rows;
  }

  bool inWindow(const model::BlockInfo& block) const {
    return block.rows > 0 && (!sameTimebase_ || !block.hasTime ||
                              (block.start <= trace_->loadedTo && block.end >= trace_->loadedFrom));
  }
  bool inWindow(Ticks start, Ticks end) const {
    return !request_.large || (start <= trace_->loadedTo && end >= trace_->loadedFrom);
  }

  base::Status readPlacements() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Placement>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      PIPESCOPE_TRY(report(0.5, i, blocks.size(), "reading placements"));
      if (!inWindow(blocks[i])) continue;
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
    if (!inWindow(placement.start, placement.end)) return;
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
      if (!inWindow(blocks[i])) continue;
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
        if (inWindow(row.start, row.end))
          waits_[static_cast<std::size_t>(deviceIndex_[row.device])].push_back(row);
      }
    }
    return {};
  }

  base::Status readTransfers() {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Transfer>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      PIPESCOPE_TRY(report(0.8, i, blocks.size(), "reading transfers"));
      if (!inWindow(blocks[i])) continue;
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
        if (inWindow(row.start, row.end)) trace_->transfers.push_back(row);
      }
    }
    std::stable_sort(trace_->transfers.begin(), trace_->transfers.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    shareTransfers(*trace_);
    return {};
  }

  base::Status readFar() {
    const auto inside = [&](const model::LevelNode& node) {
      const DeviceTrace* device = deviceOf(model::DeviceId(node.owner));
      return device != nullptr && toAxis(*device, node.end) >= trace_->loadedFrom &&
             toAxis(*device, node.start) <= trace_->loadedTo;
    };
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(
        64,
        request_.mostRows / std::max<std::int64_t>(1, static_cast<std::int64_t>(trace_->devices.size()))));
    PIPESCOPE_ASSIGN(farPlacements_,
                     readLevels(source_, model::LevelContent::placements, most, inside, progress_));
    PIPESCOPE_ASSIGN(farWaits_, readLevels(source_, model::LevelContent::waits, most, inside, progress_));
    for (Levels* levels : {&farPlacements_, &farWaits_}) {
      for (auto& [key, nodes] : *levels) {
        const DeviceTrace& device = *deviceOf(model::DeviceId(key.first));
        for (model::LevelNode& node : nodes)
          node.start = toAxis(device, node.start), node.end = toAxis(device, node.end);
      }
    }
    shareTransfers(*trace_);
    return {};
  }

  /// The part of a segment that is placed in the window, in ticks of its device.
  struct Wanted {
    bool any = false;
    Ticks from, to;
  };

  std::vector<Wanted> wantedSteps() const {
    std::vector<Wanted> wanted(trace_->segments.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wanted[i] = {trace_->far || !trace_->large, Ticks(0), trace_->segments[i].ticks};
    if (trace_->far || !trace_->large) return wanted;
    for (std::size_t d = 0; d < placements_.size(); ++d) {
      const double scale = trace_->devices[d].axisTicksPerTick;
      const auto offset = [&](Ticks time) {
        return Ticks(static_cast<std::int64_t>(static_cast<double>(time.count) / scale));
      };
      for (const TracePlacement& placement : placements_[d]) {
        if (placement.segment < 0) continue;
        Wanted& part = wanted[static_cast<std::size_t>(placement.segment)];
        const Ticks length = trace_->segments[static_cast<std::size_t>(placement.segment)].ticks;
        const Ticks from = std::max(Ticks(0), offset(trace_->loadedFrom - placement.start));
        const Ticks to = std::min(length, offset(trace_->loadedTo - placement.start) + Ticks(1));
        part = part.any ? Wanted{true, std::min(part.from, from), std::max(part.to, to)}
                        : Wanted{true, from, to};
      }
    }
    return wanted;
  }

  /// Takes from an earlier window what that has whole.
  void reuseSegments(std::vector<Wanted>& wanted) {
    for (std::size_t i = 0; request_.large && i < wanted.size(); ++i) {
      const TraceSegment& known = request_.large->segments[i];
      if (!wanted[i].any || !known.whole || known.steps.empty()) continue;
      trace_->segments[i] = known;
      wanted[i].any = false;
    }
  }

  bool mayHold(const std::vector<model::ColumnRange>& ranges, const std::vector<Wanted>& wanted) const {
    const auto &segment = ranges[0], &offset = ranges[2], &ticks = ranges[3];
    if (!segment.known) return true;
    auto next = segmentIndex_.lower_bound(model::SegmentId(segment.smallest));
    for (; next != segmentIndex_.end() && next->first.value <= segment.largest; ++next) {
      const Wanted& part = wanted[static_cast<std::size_t>(next->second)];
      if (!part.any) continue;
      if (segment.smallest != segment.largest || !offset.known || !ticks.known) return true;
      if (offset.smallest <= part.to.count && offset.largest + ticks.largest >= part.from.count) return true;
    }
    return false;
  }

  base::Status readSteps() {
    std::vector<Wanted> wanted = wantedSteps();
    reuseSegments(wanted);
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    std::vector<std::size_t> chosen;
    std::int64_t rows = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].rows == 0) {
        chosen.push_back(i);  // damaged: reading it says so
        continue;
      }
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source_.ranges<model::Step>(i));
      if (!mayHold(ranges, wanted)) continue;
      chosen.push_back(i);
      rows += blocks[i].rows;
    }
    if (trace_->large && !request_.large) {
      PIPESCOPE_TRY(sampleDepth(blocks));
    }
    if (rows > request_.mostSteps) return readFarSteps(wanted);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      PIPESCOPE_TRY(report(0.3, i, chosen.size(), "reading steps"));
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> block, source_.block<model::Step>(chosen[i]));
      for (const model::Step& step : *block) takeStep(step, wanted);
    }
    for (std::size_t i = 0; i < trace_->segments.size(); ++i) {
      if (!wanted[i].any) continue;
      std::vector<model::Step>& steps = trace_->segments[i].steps;
      trace_->segments[i].whole = wanted[i].from.count <= 0 && wanted[i].to >= trace_->segments[i].ticks;
      std::stable_sort(steps.begin(), steps.end(),
                       [](const auto& a, const auto& b) { return a.offset < b.offset; });
    }
    return {};
  }

  void takeStep(const model::Step& step, const std::vector<Wanted>& wanted) {
    const auto found = segmentIndex_.find(step.segment);
    if (found == segmentIndex_.end()) return;
    const Wanted& part = wanted[static_cast<std::size_t>(found->second)];
    if (!part.any) return;
    if (step.offset.count < 0 || step.ticks.count < 0) {
      ++trace_->damagedRows;
      return;
    }
    if (trace_->large && (step.offset > part.to || step.offset + step.ticks < part.from)) return;
    trace_->segments[static_cast<std::size_t>(found->second)].steps.push_back(step);
  }

  base::Status readFarSteps(const std::vector<Wanted>& wanted) {
    trace_->farSteps = true;
    const auto inside = [&](const model::LevelNode& node) {
      const auto found = segmentIndex_.find(model::SegmentId(node.owner));
      if (found == segmentIndex_.end()) return false;
      const Wanted& part = wanted[static_cast<std::size_t>(found->second)];
      return part.any && node.end >= part.from && node.start <= part.to;
    };
    constexpr std::size_t kFew = 64, kMost = 4096, kAll = 120'000;
    const std::size_t each =
        std::clamp(kAll / std::max<std::size_t>(1, trace_->segments.size()), kFew, kMost);
    PIPESCOPE_ASSIGN(Levels levels, readLevels(source_, model::LevelContent::steps, each, inside, progress_));
    for (auto& [key, nodes] : levels) farSteps_[key.first][key.second] = std::move(nodes);
    return {};
  }

  /// How deep name paths go, from steps at the beginning, in the middle and at the end.
  base::Status sampleDepth(const std::vector<model::BlockInfo>& blocks) {
    constexpr std::size_t kSteps = 400;
    sampledDepth_ = 1;
    std::set<std::size_t> sample;
    if (!blocks.empty()) sample = {0, blocks.size() / 2, blocks.size() - 1};
    for (const std::size_t i : sample) {
      if (blocks[i].rows == 0) continue;
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(i));
      for (std::size_t r = 0; r < rows->size(); r += std::max<std::size_t>(1, rows->size() / kSteps)) {
        const std::string path = textsOf((*rows)[r]).first;
        const auto parts = 1 + std::count(path.begin(), path.end(), '/');
        sampledDepth_ =
            std::max(sampledDepth_, static_cast<std::int32_t>(std::min<std::ptrdiff_t>(12, parts)));
      }
    }
    return {};
  }

  /// Cuts the device's placements into tracks and gives each its rows.
  void finishDevice(DeviceTrace& device) {
    const auto index = static_cast<std::size_t>(deviceIndex_[device.id]);
    std::vector<TracePlacement>& placements = placements_[index];
    std::stable_sort(placements.begin(), placements.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    std::map<model::LaneId, TraceTrack> tracks;
    const bool byLane = trace_->large ? worksSideBySide(device.id) : lanesOverlap(placements);
    if (trace_->large && byLane) {
      for (const model::LaneId lane : lanesOf(device.id)) tracks[lane].lane = lane;
    }
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
      if (trace_->far) {
        layOutFar(device, track);
      } else {
        findPasses(track);
        listActivities(*trace_, device, track);
      }
      layOutSteps(device, track);
    }
  }

  void layOutFar(const DeviceTrace& device, TraceTrack& track) {
    std::vector<model::LevelNode> placements;
    for (const auto& [key, nodes] : farPlacements_) {
      if (key.first == device.id.value && (!track.lane.valid() || key.second == track.lane))
        placements.insert(placements.end(), nodes.begin(), nodes.end());
    }
    const auto waits = farWaits_.find({device.id.value, model::LaneId()});
    static const std::vector<model::LevelNode> none;
    FarActivities far = farActivities(std::move(placements), waits == farWaits_.end() ? none : waits->second);
    track.activities = std::move(far.activities);
    track.far = std::move(far.spans);
  }

  /// Without having seen all placements: whether lanes of the device work at the same time.
  bool worksSideBySide(model::DeviceId device) const {
    for (const model::Lane& lane : catalog_.lanes) {
      if (lane.device == device && lane.role > model::LaneRole::host) return true;
    }
    return false;
  }
  std::vector<model::LaneId> lanesOf(model::DeviceId device) const {
    std::vector<model::LaneId> lanes;
    for (const model::Lane& lane : catalog_.lanes) {
      if (lane.device == device && lane.clock == model::ClockDomain::emulated) lanes.push_back(lane.id);
    }
    return lanes;
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

  void layOutSteps(const DeviceTrace& device, TraceTrack& track) {
    std::vector<std::size_t> used;
    std::set<model::LaneId> lanes;
    bool sequential = true;
    for (std::size_t i = 0; i < trace_->segments.size(); ++i) {
      const TraceSegment& segment = trace_->segments[i];
      if (segmentDevice_[i] != device.id || (track.lane.valid() && segment.lane != track.lane)) continue;
      if (segment.steps.empty() && farSteps_.count(segment.id.value) == 0) continue;
      used.push_back(i);
      sequential = sequential && isSequential(segment.steps);
      for (const model::Step& step : segment.steps) lanes.insert(step.lane);
    }
    if (trace_->large) {
      fixLanes(device, track);
    } else {
      track.flatLanes.assign(lanes.begin(), lanes.end());
      if (sequential) {
        track.flameLanes.push_back({});
      } else {
        for (const model::LaneId lane : lanes) track.flameLanes.push_back({lane, 0});
      }
    }
    for (const std::size_t i : used) layOutSegment(device, track, trace_->segments[i]);
  }

  /// Lanes and depths that hold for every window of a large trace.
  void fixLanes(const DeviceTrace& device, TraceTrack& track) {
    if (request_.large) {
      const auto place = static_cast<std::size_t>(deviceIndex_[device.id]);
      for (const TraceTrack& known : request_.large->devices[place].tracks) {
        if (known.lane == track.lane) track.flameLanes = known.flameLanes, track.flatLanes = known.flatLanes;
      }
      return;
    }
    std::set<model::LaneRole> roles;
    bool distinct = !worksSideBySide(device.id);
    for (const model::LaneId lane : lanesOf(device.id)) {
      if (track.lane.valid() && lane != track.lane) continue;
      const model::LaneRole role = catalog_.lanes[static_cast<std::size_t>(lane.value)].role;
      distinct = roles.insert(role).second && distinct;
      if (role != model::LaneRole::host) track.flatLanes.push_back(lane);
    }
    if (distinct) {
      track.flameLanes.push_back({model::LaneId(), sampledDepth_});
    } else {
      for (const model::LaneId lane : track.flatLanes) track.flameLanes.push_back({lane, sampledDepth_});
    }
  }

  void layOutSegment(const DeviceTrace& device, TraceTrack& track, TraceSegment& segment) {
    if (!segment.flame.empty()) return;  // taken from an earlier window
    if (const auto far = farSteps_.find(segment.id.value); far != farSteps_.end())
      return layOutFarSegment(track, segment, far->second);
    std::vector<std::string> paths;
    segment.stepNames.clear();
    for (const model::Step& step : segment.steps) {
      auto [path, kind] = textsOf(step);
      segment.stepNames.push_back(names_.indexOf(path));
      segment.stepPrograms.push_back(names_.indexOf(kind));
      paths.push_back(std::move(path));
    }
    for (FlameLane& lane : track.flameLanes) {
      segment.flame.push_back(flameRows(segment, lane.lane, paths, names_));
      const auto depth = static_cast<std::int32_t>(segment.flame.back().size());
      if (!trace_->large) lane.depth = std::max(lane.depth, depth);
    }
    for (const model::LaneId lane : track.flatLanes)
      segment.flat.push_back(flatRow(segment, lane, paths, names_));
    sumSegment(segment, device.units);
  }

  static void layOutFarSegment(const TraceTrack& track, TraceSegment& segment, const LaneNodes& nodes) {
    segment.whole = false;
    const auto rowOf = [&](model::LaneId lane) {
      const auto found = nodes.find(lane);
      return found == nodes.end() ? FlameRow() : farRow(found->second);
    };
    for (const FlameLane& lane : track.flameLanes) {
      model::LaneId busiest = lane.lane;
      Ticks most;
      for (const auto& [key, list] : nodes) {
        Ticks busy;
        for (const model::LevelNode& node : list) busy += node.busy;
        if (!lane.lane.valid() && busy > most) busiest = key, most = busy;
      }
      segment.flame.push_back({rowOf(busiest)});
    }
    for (const model::LaneId lane : track.flatLanes) segment.flat.push_back(rowOf(lane));
  }

  /// The name path of a step, its program's kind where it has no name; and that kind.
  std::pair<std::string, std::string> textsOf(const model::Step& step) {
    const auto index = static_cast<std::size_t>(step.program.value);
    if (!step.program.valid() || index >= catalog_.programs.size()) return {};
    const model::Program program = catalog_.programs[index];
    auto [place, added] = paths_.try_emplace(program.debugContext);
    if (added) place->second = catalog_.namePath(program.debugContext);
    return {place->second.empty() ? program.kind : place->second, program.kind};
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

  base::Status findIterations() {
    if (request_.large) {
      trace_->iterations = request_.large->iterations;
      return {};
    }
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
    if (trace_->far) {
      PIPESCOPE_TRY(findFarIterations(extend));
    }
    for (const auto& [key, span] : spans) trace_->iterations.push_back(span);
    std::sort(trace_->iterations.begin(), trace_->iterations.end(),
              [](const auto& a, const auto& b) { return a.start < b.start; });
    return {};
  }

  /// From what the directory says of each block; blocks in which one iteration follows another are read.
  template <class Extend>
  base::Status findFarIterations(const Extend& extend) {
    constexpr std::size_t kRun = 5, kIteration = 11, kMostRead = 64;
    std::size_t read = 0;
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Placement>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (!inWindow(blocks[i])) continue;
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source_.ranges<model::Placement>(i));
      const auto& run = ranges[kRun];
      const auto& iteration = ranges[kIteration];
      if (run.known && iteration.known && run.smallest == run.largest &&
          iteration.smallest == iteration.largest) {
        if (wanted_.count(model::RunId(run.smallest)) > 0)
          extend(model::RunId(run.smallest), static_cast<std::int32_t>(iteration.smallest), blocks[i].start,
                 blocks[i].end);
      } else if (read++ < kMostRead) {
        PIPESCOPE_TRY(report(0.9, i, blocks.size(), "reading steps of the run"));
        PIPESCOPE_ASSIGN(const model::Rows<model::Placement> rows, source_.block<model::Placement>(i));
        for (const model::Placement& row : *rows) {
          const DeviceTrace* device = deviceOf(row.device);
          if (device != nullptr && wanted_.count(row.run) > 0)
            extend(row.run, row.iteration, toAxis(*device, row.start), toAxis(*device, row.end));
        }
      }
    }
    return {};
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
  std::map<model::SegmentId, std::int32_t> segmentIndex_;
  std::vector<model::DeviceId> segmentDevice_;
  std::vector<std::vector<TracePlacement>> placements_;
  std::vector<std::vector<model::Wait>> waits_;
  std::unordered_map<model::DebugContextId, std::string> paths_;
  Levels farPlacements_, farWaits_;                       // times in ticks of the axis
  std::unordered_map<std::int64_t, LaneNodes> farSteps_;  // by segment
  std::int32_t sampledDepth_ = 1;
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
