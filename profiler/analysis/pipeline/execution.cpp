#include "profiler/analysis/pipeline/execution.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"
#include "profiler/analysis/device_places.h"
#include "profiler/analysis/intervals.h"
#include "profiler/analysis/launches.h"
#include "profiler/analysis/rows_of_run.h"
#include "profiler/analysis/segment_use.h"

namespace pipescope::analysis {
namespace {

using model::StepKind;
using model::WaitCause;

/// Sums of one device over a run.
class DeviceSums {
 public:
  DeviceSums(const Catalog& catalog, const model::Device& device, const model::Run& run) {
    result_.index = static_cast<int>(device.id.value);
    result_.name = device.name;
    result_.kind = device.kind;
    result_.clockHz = device.ticksPerSecond;
    result_.total = base::convertRoundUp(run.end - run.start, catalog.timebase({}),
                                         base::Timebase{device.ticksPerSecond});
    units_ = std::max<std::int64_t>(1, device.units);
  }

  void add(const model::Placement& placement, const model::Segment& segment, const SegmentUse& use,
           const Catalog& catalog) {
    result_.placed = true;
    // What a trace holds beside the recognised passes lies within them, or beside them on other lanes.
    const bool beside = placement.pass == model::Pass::other && placement.stage < 0;
    // Threads of the host only start what an accelerator does.
    const bool host = beside && catalog.roleOf(segment.lane) == model::LaneRole::hostThread;
    (host     ? hosts_
     : beside ? others_
              : placements_)[segment.lane]
        .push_back({placement.start, placement.end, &use, segment.id});
    Intervals& work = host                                        ? hostWork_
                      : beside                                    ? otherWork_
                      : placement.pass == model::Pass::collective ? collectives_
                                                                  : working_;
    work.add(placement.start, placement.end);
    for (const auto& [lane, ticks] : use.byLane) {
      const model::LaneRole role = catalog.roleOf(lane);
      result_.byLane[role] += ticks;
      used_[role].lanes.insert(lane);
      used_[role].placements.add(placement.start, placement.end);
    }
    result_.streamIn += use.streamIn;
    result_.streamOut += use.streamOut;
    result_.exchangeIn += use.exchangeIn;
    result_.exchangeOut += use.exchangeOut;
    result_.globalIn += use.globalIn;
    result_.globalOut += use.globalOut;
    balanceSum_ += use.balanceSum;
    computeMean_ += use.computeMean;
    computeSteps_ += use.computeSteps;
  }

  void add(const model::Transfer& transfer, bool incoming, model::LaneRole role) {
    transfers_.add(transfer.start, transfer.end);
    transfersByLane_[role].add(transfer.start, transfer.end);
    (incoming ? result_.globalIn : result_.globalOut) += transfer.bytes;
  }

  void add(const model::Wait& wait) { waits_[wait.cause].add(wait.start, wait.end); }

  /// A step of a recorded accelerator on the clock of its device.
  struct RecordedStep {
    Ticks start, end;
    StepKind kind;
  };
  struct RecordedSegment {
    model::LaneId lane;
    model::SegmentId segment;
    Ticks start, end;
  };
  /// The segments that addRecorded() shall have, by start: those of an accelerator without recognised passes.
  /// Nothing relates their steps, so the time between them is idle.
  std::vector<RecordedSegment> recordedSegments() const {
    std::vector<RecordedSegment> segments;
    if (!placements_.empty()) return segments;
    for (const auto& [lane, placements] : others_)
      for (const Placed& placed : placements)
        segments.push_back({lane, placed.segment, placed.start, placed.end});
    std::ranges::stable_sort(segments, {}, &RecordedSegment::start);
    return segments;
  }
  /// False if waits or transfers are compared with the steps, for which all of them must be known together.
  bool mayDivideRecorded() const { return waits_.empty() && transfers_.empty(); }
  /// Counts the steps of one lane, one of several with this role. A moment in which lanes work at the same
  /// time counts on the first of them.
  void addRecorded(std::vector<RecordedStep> steps, model::LaneRole role) {
    if (!recorded_) otherWork_ = {};
    recorded_ = true;
    std::ranges::stable_sort(steps, {}, &RecordedStep::start);
    Intervals own;
    Ticks reached(INT64_MIN);
    for (const RecordedStep& step : steps) {
      const Ticks from = std::max(step.start, reached);  // damaged steps may overlap
      if (step.end <= from) continue;
      reached = step.end;
      forEachFreePart(placed_, from, step.end, [&](Ticks start, Ticks end) {
        result_.byKind[kindIndex(step.kind)] += (end - start).count;
      });
      own.add(from, step.end);
      recordedByRole_[role].add(from, step.end);
      (step.kind == StepKind::globalExchange ? collectives_ : working_).add(from, step.end);
    }
    own.add(Intervals(placed_));
    placed_ = own.joined();
  }
  /// Ends a stretch of time: keeps only the sums of the recorded steps, so that memory does not grow with
  /// their number. No later step begins in this stretch.
  void foldRecorded() {
    folded_.placed += lengthOf(placed_);
    folded_.communicating += collectives_.unionLength();
    folded_.exposed += freeLength(working_.joined(), collectives_.joined());
    for (const auto& [role, work] : recordedByRole_) folded_.byRole[role] += work.unionLength();
    placed_ = {};
    collectives_ = working_ = {};
    recordedByRole_.clear();
  }

  /// True when nothing of the run happened on the device.
  bool unused() const {
    return !recorded_ && working_.empty() && otherWork_.empty() && hostWork_.empty() &&
           collectives_.empty() && transfers_.empty();
  }

  /// A stretch of a segment, in ticks from its start.
  struct Stretch {
    model::SegmentId segment;
    Ticks from, to;
  };

  /// Adds the time by kind of placements that count as a whole. Where lanes work at the same time, a moment
  /// counts on the first of them. Returns what is left of the other placements, for addStretch().
  std::vector<Stretch> place() {
    std::vector<Stretch> cut;
    Intervals all;
    if (recorded_) return cut;  // addRecorded() has counted its steps
    if (placements_.empty()) {
      placements_ = std::move(others_);
      working_ = std::move(otherWork_);
    }
    if (placements_.empty()) {
      placements_ = std::move(hosts_);
      working_ = std::move(hostWork_);
    }
    for (auto& [lane, placements] : placements_) {
      std::ranges::stable_sort(placements, {}, &Placed::start);
      for (const Placed& placed : placements) {
        if (placed.end <= placed.start) continue;
        forEachFreePart(placed_, placed.start, placed.end, [&](Ticks from, Ticks to) {
          if (from == placed.start && to == placed.end) return addKinds(placed.use->byKind);
          cut.push_back({placed.segment, from - placed.start, to - placed.start});
        });
        all.add(placed.start, placed.end);
      }
      placed_ = all.joined();
    }
    return cut;
  }

  void addKinds(const TicksByKind& ticks) {
    for (std::size_t kind = 0; kind < kStepKinds; ++kind) result_.byKind[kind] += ticks[kind];
  }

  /// Call place() first.
  DeviceExecution finish() {
    const std::vector<Intervals::Interval>& placed = placed_;
    limitLanes();
    for (const auto& [role, transfers] : transfersByLane_) {
      if (const Ticks length = transfers.unionLength(); length.count > 0) result_.byLane[role] += length;
    }
    result_.transfersOutside = freeLength(placed, transfers_.joined());
    result_.byKind[kindIndex(StepKind::globalExchange)] += result_.transfersOutside.count;
    result_.idle = result_.total - lengthOf(placed) - folded_.placed - result_.transfersOutside;
    Intervals busy(placed);
    for (const auto& [cause, waits] : waits_) {
      result_.waits[cause] = freeLength(placed, waits.joined());
      busy.add(waits);
    }
    result_.transfersAlone = freeLength(busy.joined(), transfers_.joined());
    Intervals communication = transfers_;
    communication.add(collectives_);
    result_.communicating = communication.unionLength() + folded_.communicating;
    result_.exposed = freeLength(working_.joined(), communication.joined()) + folded_.exposed;
    if (computeSteps_ > 0) result_.tileBalance = balanceSum_ / static_cast<double>(computeSteps_);
    const double compute =
        units_ > 1 ? computeMean_ : static_cast<double>(result_.ofKind(StepKind::compute).count);
    if (result_.total.count > 0)
      result_.parallelEfficiency = compute / static_cast<double>(result_.total.count);
    return result_;
  }

 private:
  struct Placed {
    Ticks start, end;
    const SegmentUse* use;
    model::SegmentId segment;
  };

  /// Several lanes of one role, such as the nested rows of an imported thread, work no longer than the
  /// placements last that use them.
  void limitLanes() {
    for (const auto& [role, work] : recordedByRole_) folded_.byRole[role] += work.unionLength();
    for (const auto& [role, ticks] : folded_.byRole) result_.byLane[role] = ticks;
    for (const auto& [role, used] : used_) {
      if (folded_.byRole.contains(role)) continue;
      if (used.lanes.size() > 1)
        result_.byLane[role] = std::min(result_.byLane[role], used.placements.unionLength());
    }
  }

  static Ticks lengthOf(const std::vector<Intervals::Interval>& joined) {
    Ticks length;
    for (const auto& [start, end] : joined) length += end - start;
    return length;
  }

  DeviceExecution result_;
  std::map<model::LaneId, std::vector<Placed>> placements_, others_, hosts_;
  struct Used {
    std::set<model::LaneId> lanes;
    Intervals placements;  ///< those with work on one of the lanes
  };
  std::map<model::LaneRole, Used> used_;
  std::vector<Intervals::Interval> placed_;  ///< union of the placements
  Intervals working_, otherWork_, hostWork_, collectives_, transfers_;
  std::map<model::LaneRole, Intervals> transfersByLane_;
  std::map<WaitCause, Intervals> waits_;
  std::map<model::LaneRole, Intervals> recordedByRole_;
  struct Folded {
    Ticks placed, communicating, exposed;
    std::map<model::LaneRole, Ticks> byRole;
  };
  Folded folded_;          ///< sums of the stretches before
  bool recorded_ = false;  ///< addRecorded() was called
  std::int64_t units_ = 1;
  double balanceSum_ = 0, computeMean_ = 0;
  std::int64_t computeSteps_ = 0;
};

using SumsByDevice = base::IdVector<model::DeviceId, DeviceSums>;

using UseBySegment = std::unordered_map<model::SegmentId, SegmentUse>;

/// The uses of the executable's segments.
Result<UseBySegment> usesOf(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable) {
  std::vector<SegmentFacts> segments;
  for (const model::Segment& segment : catalog.segments) {
    if (segment.executable == executable)
      segments.push_back({segment.id, segment.pass, segment.lane, std::max(Ticks(0), segment.ticks)});
  }
  base::SilentProgress progress;
  return segmentUses(source, segments, progress);
}

base::Status addRun(const model::ProfileSource& source, const Catalog& catalog, const model::Run& run,
                    const UseBySegment& uses, SumsByDevice& sums) {
  PIPESCOPE_TRY(forEachRowOfRun<model::Placement>(source, run, [&](const model::Placement& placement) {
    DeviceSums* device = sums.find(placement.device);
    const model::Segment* segment = catalog.segments.find(placement.segment);
    const auto use = uses.find(placement.segment);
    if (device != nullptr && segment != nullptr && use != uses.end())
      device->add(placement, *segment, use->second, catalog);
  }));
  PIPESCOPE_TRY(forEachRowOfRun<model::Transfer>(source, run, [&](const model::Transfer& transfer) {
    if (isLaunch(catalog, transfer)) return;
    for (const bool incoming : {false, true}) {
      const model::LaneId lane = incoming ? transfer.toLane : transfer.fromLane;
      if (DeviceSums* device = sums.find(catalog.deviceOf(lane)))
        device->add(transfer, incoming, catalog.roleOf(lane));
    }
  }));
  return forEachRowOfRun<model::Wait>(source, run, [&](const model::Wait& wait) {
    if (DeviceSums* device = sums.find(wait.device)) device->add(wait);
  });
}

/// Counts the steps of one accelerator whose passes nobody recognised, some segments at a time.
class RecordedReader {
 public:
  RecordedReader(const model::ProfileSource& source, const Catalog& catalog)
      : source_(source), catalog_(catalog) {}

  base::Status read(DeviceSums& device) {
    const std::vector<DeviceSums::RecordedSegment> all = device.recordedSegments();
    const bool divides = device.mayDivideRecorded();
    std::vector<DeviceSums::RecordedSegment> active;
    Ticks from(INT64_MIN);
    for (std::size_t next = 0; next < all.size() || !active.empty();) {
      const std::size_t count = divides ? std::min(kSegmentsAtOnce, all.size() - next) : all.size();
      active.insert(active.end(), all.begin() + static_cast<std::ptrdiff_t>(next),
                    all.begin() + static_cast<std::ptrdiff_t>(next + count));
      next += count;
      const Ticks to = next < all.size() ? all[next].start : Ticks(INT64_MAX);
      PIPESCOPE_TRY(add(device, active, from, to));
      if (divides) device.foldRecorded();
      std::erase_if(active, [to](const DeviceSums::RecordedSegment& segment) { return segment.end <= to; });
      from = to;
    }
    return {};
  }

 private:
  /// A segment of an imported trace has some thousand steps.
  static constexpr std::size_t kSegmentsAtOnce = 64;

  /// Adds what the segments do from `from` until `to`.
  base::Status add(DeviceSums& device, const std::vector<DeviceSums::RecordedSegment>& segments, Ticks from,
                   Ticks to) {
    std::map<model::SegmentId, const DeviceSums::RecordedSegment*> wanted;
    for (const DeviceSums::RecordedSegment& segment : segments) wanted[segment.segment] = &segment;
    std::map<model::LaneId, std::vector<DeviceSums::RecordedStep>> lanes;
    for (const DeviceSums::RecordedSegment& segment : segments)
      lanes[segment.lane];  // also one without steps
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].rows > 0) {  // A damaged block has no rows. Reading it gives the error.
        PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source_.ranges<model::Step>(b));
        if (!ranges.empty() && ranges.front().known) {
          const auto first = wanted.lower_bound(model::SegmentId(ranges.front().smallest));
          if (first == wanted.end() || first->first.value > ranges.front().largest) continue;
        }
      }
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(b));
      for (const model::Step& step : *rows) {
        const auto own = wanted.find(step.segment);
        if (own == wanted.end()) continue;
        const Ticks start = own->second->start + step.offset;
        lanes[own->second->lane].push_back(
            {std::max(start, from), std::min(start + step.ticks, to), step.kind});
      }
    }
    for (auto& [lane, steps] : lanes) device.addRecorded(std::move(steps), catalog_.roleOf(lane));
    return {};
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
};

base::Status placeRecorded(const model::ProfileSource& source, const Catalog& catalog, SumsByDevice& sums) {
  if (!catalog.measured()) return {};
  RecordedReader reader(source, catalog);
  for (DeviceSums& device : sums) PIPESCOPE_TRY(reader.read(device));
  return {};
}

/// Places everything and adds the stretches of segments that other lanes leave free. Reads the steps of these
/// segments.
base::Status placeAll(const model::ProfileSource& source, const Catalog& catalog, SumsByDevice& sums) {
  std::vector<std::pair<DeviceSums*, std::vector<DeviceSums::Stretch>>> cut;
  std::unordered_map<model::SegmentId, std::vector<model::Step>> steps;
  for (DeviceSums& device : sums) {
    cut.emplace_back(&device, device.place());
    for (const DeviceSums::Stretch& stretch : cut.back().second) steps[stretch.segment];
  }
  if (steps.empty()) return {};
  PIPESCOPE_TRY(forAllRows<model::Step>(source, [&](const model::Step& step) {
    if (const auto found = steps.find(step.segment); found != steps.end()) found->second.push_back(step);
  }));
  for (auto& [id, list] : steps) std::ranges::stable_sort(list, {}, &model::Step::offset);
  for (const auto& [device, stretches] : cut) {
    for (const DeviceSums::Stretch& stretch : stretches) {
      const model::Segment* segment = catalog.segments.find(stretch.segment);
      if (segment != nullptr)
        device->addKinds(
            exclusiveTicks(steps[stretch.segment], segment->pass, segment->ticks, stretch.from, stretch.to));
    }
  }
  return {};
}

}  // namespace

Result<Execution> execution(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable) {
  Execution result;
  const model::Run* run = catalog.lastRunOf(executable);
  if (run == nullptr) return result;
  SumsByDevice sums;
  for (const model::Device& device : catalog.devices) sums.emplace_back(catalog, device, *run);
  PIPESCOPE_ASSIGN(const UseBySegment uses, usesOf(source, catalog, executable));
  PIPESCOPE_TRY(addRun(source, catalog, *run, uses, sums));
  PIPESCOPE_TRY(placeRecorded(source, catalog, sums));
  PIPESCOPE_TRY(placeAll(source, catalog, sums));
  const auto places = devicePlaces(catalog, executable);
  std::set<std::int32_t> left;
  model::DeviceId id(0);
  for (DeviceSums& device : sums) {
    const DevicePlace& place = places[id];
    ++id.value;
    if (place.replica > 0 && device.unused()) {
      left.insert(place.replica);
      continue;
    }
    result.devices.push_back(device.finish());
    result.devices.back().holdsStage = place.replica == 0 && !place.stages.empty();
  }
  result.replicasNotRecorded = static_cast<int>(left.size());
  result.total = run->end - run->start;
  result.seconds = base::toSeconds(result.total, catalog.timebase({}));
  result.samples = run->samples;
  if (result.seconds > 0) result.samplesPerSecond = static_cast<double>(run->samples) / result.seconds;
  return result;
}

TimeShares timeShares(const Execution& execution) {
  TimeShares shares;
  double whole = 0;
  for (const DeviceExecution& device : execution.devices) {
    if (!device.holdsStage) continue;
    Ticks left = device.total;
    const auto add = [&](double& share, Ticks ticks) {
      share += static_cast<double>(ticks.count);
      left -= ticks;
    };
    add(shares.compute, device.ofKind(StepKind::compute));
    add(shares.control, device.ofKind(StepKind::control));
    add(shares.stream, device.ofKind(StepKind::streamCopy));
    add(shares.memory, device.ofKind(StepKind::remoteCopy));
    add(shares.exchange, device.ofKind(StepKind::exchange) + device.ofKind(StepKind::sync));
    // What a device waits for says more than a transfer that goes on meanwhile.
    add(shares.exchange,
        device.ofKind(StepKind::globalExchange) - device.transfersOutside + device.transfersAlone);
    for (const auto& [cause, ticks] : device.waits) {
      add(cause == WaitCause::host                                         ? shares.host
          : cause == WaitCause::exchange || cause == WaitCause::collective ? shares.exchange
                                                                           : shares.pipeline,
          ticks);
    }
    shares.unknown += static_cast<double>(left.count);
    whole += static_cast<double>(device.total.count);
  }
  if (whole <= 0) return {};
  for (double* share : {&shares.compute, &shares.control, &shares.exchange, &shares.stream, &shares.memory,
                        &shares.host, &shares.pipeline, &shares.unknown})
    *share /= whole;
  return shares;
}

}  // namespace pipescope::analysis
