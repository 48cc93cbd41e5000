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
  /// Starts of the segments that addRecorded() shall have, by lane: those of an accelerator without
  /// recognised passes. Nothing relates their steps, so the time between them is idle.
  std::map<model::LaneId, std::unordered_map<model::SegmentId, Ticks>> recordedSegments() const {
    std::map<model::LaneId, std::unordered_map<model::SegmentId, Ticks>> starts;
    if (!placements_.empty()) return starts;
    for (const auto& [lane, placements] : others_)
      for (const Placed& placed : placements) starts[lane].emplace(placed.segment, placed.start);
    return starts;
  }
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

  /// True when nothing of the run happened on the device.
  bool unused() const {
    return working_.empty() && otherWork_.empty() && hostWork_.empty() && collectives_.empty() &&
           transfers_.empty();
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
    result_.transfersOutside = freeLength(placed, transfers_);
    result_.byKind[kindIndex(StepKind::globalExchange)] += result_.transfersOutside.count;
    result_.idle = result_.total - lengthOf(placed) - result_.transfersOutside;
    Intervals busy(placed);
    for (const auto& [cause, waits] : waits_) {
      result_.waits[cause] = freeLength(placed, waits);
      busy.add(waits);
    }
    result_.transfersAlone = freeLength(busy.joined(), transfers_);
    Intervals communication = transfers_;
    communication.add(collectives_);
    result_.communicating = communication.unionLength();
    result_.exposed = freeLength(working_.joined(), communication);
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
    for (const auto& [role, work] : recordedByRole_) result_.byLane[role] = work.unionLength();
    for (const auto& [role, used] : used_) {
      if (recordedByRole_.contains(role)) continue;
      if (used.lanes.size() > 1)
        result_.byLane[role] = std::min(result_.byLane[role], used.placements.unionLength());
    }
  }

  static Ticks lengthOf(const std::vector<Intervals::Interval>& joined) {
    Ticks length;
    for (const auto& [start, end] : joined) length += end - start;
    return length;
  }

  /// The time of `what` that `taken` leaves free.
  static Ticks freeLength(const std::vector<Intervals::Interval>& taken, const Intervals& what) {
    Ticks length;
    for (const auto& [start, end] : what.joined())
      forEachFreePart(taken, start, end, [&](Ticks from, Ticks to) { length += to - from; });
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
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> placements, rowsOfRun<model::Placement>(source, run));
  for (const model::Placement& placement : placements) {
    DeviceSums* device = sums.find(placement.device);
    const model::Segment* segment = catalog.segments.find(placement.segment);
    const auto use = uses.find(placement.segment);
    if (device != nullptr && segment != nullptr && use != uses.end())
      device->add(placement, *segment, use->second, catalog);
  }
  PIPESCOPE_ASSIGN(const std::vector<model::Transfer> transfers, rowsOfRun<model::Transfer>(source, run));
  for (const model::Transfer& transfer : transfers) {
    if (isLaunch(catalog, transfer)) continue;
    for (const bool incoming : {false, true}) {
      const model::LaneId lane = incoming ? transfer.toLane : transfer.fromLane;
      if (DeviceSums* device = sums.find(catalog.deviceOf(lane)))
        device->add(transfer, incoming, catalog.roleOf(lane));
    }
  }
  PIPESCOPE_ASSIGN(const std::vector<model::Wait> waits, rowsOfRun<model::Wait>(source, run));
  for (const model::Wait& wait : waits) {
    if (DeviceSums* device = sums.find(wait.device)) device->add(wait);
  }
  return {};
}

/// Counts the steps of accelerators whose passes nobody recognised.
base::Status placeRecorded(const model::ProfileSource& source, const Catalog& catalog, SumsByDevice& sums) {
  struct Owner {
    Ticks start;
    std::vector<DeviceSums::RecordedStep>* steps;
  };
  std::unordered_map<model::SegmentId, Owner> owners;
  std::map<std::pair<DeviceSums*, model::LaneId>, std::vector<DeviceSums::RecordedStep>> lanes;
  if (!catalog.measured()) return {};
  for (DeviceSums& device : sums)
    for (const auto& [lane, starts] : device.recordedSegments())
      for (const auto& [segment, start] : starts)
        owners.emplace(segment, Owner{start, &lanes[{&device, lane}]});
  if (owners.empty()) return {};
  PIPESCOPE_TRY(forAllRows<model::Step>(source, [&](const model::Step& step) {
    const auto owner = owners.find(step.segment);
    if (owner == owners.end()) return;
    const Ticks start = owner->second.start + step.offset;
    owner->second.steps->push_back({start, start + step.ticks, step.kind});
  }));
  for (auto& [place, steps] : lanes) place.first->addRecorded(std::move(steps), catalog.roleOf(place.second));
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
