#include "profiler/analysis/pipeline/device_sums.h"

#include <algorithm>

namespace pipescope::analysis {

using model::StepKind;

namespace {

/// The length of stretches that do not overlap.
Ticks lengthOf(const std::vector<Intervals::Interval>& joined) {
  Ticks length;
  for (const auto& [start, end] : joined) length += end - start;
  return length;
}

}  // namespace

DeviceSums::DeviceSums(const Catalog& catalog, const model::Device& device, const model::Run& run)
    : measured_(catalog.measured()) {
  result_.index = static_cast<int>(device.id.value);
  result_.name = device.name;
  result_.kind = device.kind;
  result_.clockHz = device.ticksPerSecond;
  result_.total =
      base::convertRoundUp(run.end - run.start, catalog.timebase({}), base::Timebase{device.ticksPerSecond});
  units_ = std::max<std::int64_t>(1, device.units);
}

void DeviceSums::add(const model::Placement& placement, const model::Segment& segment, const SegmentUse& use,
                     const Catalog& catalog) {
  result_.placed = true;
  computes_ = computes_ || (placement.stage >= 0 && model::isComputePass(placement.pass));
  const Target& target = targetOf(placement, segment, use, catalog);
  target.placed->push_back({placement.start, placement.end, &use, segment.id});
  target.work->add(placement.start, placement.end);
  for (const auto& [sum, ticks] : target.byLane) *sum += ticks;
  for (Intervals* used : target.used) used->add(placement.start, placement.end);
  result_.streamIn += use.streamIn;
  result_.streamOut += use.streamOut;
  result_.exchangeIn += use.exchangeIn;
  result_.exchangeOut += use.exchangeOut;
  result_.globalIn += use.globalIn;
  result_.globalOut += use.globalOut;
  result_.computeBytes += use.computeBytes;
  balanceSum_ += use.balanceSum;
  computeMean_ += use.computeMean;
  computeSteps_ += use.computeSteps;
}

const DeviceSums::Target& DeviceSums::targetOf(const model::Placement& placement,
                                               const model::Segment& segment, const SegmentUse& use,
                                               const Catalog& catalog) {
  // A device repeats few segments, in turns.
  const bool staged = placement.stage >= 0;
  for (const Target& known : targets_)
    if (known.use == &use && known.pass == placement.pass && known.staged == staged) return known;
  // What a trace holds beside the recognised passes lies within them, or beside them on other lanes.
  const bool beside = placement.pass == model::Pass::other && !staged;
  // Threads of the host only start what an accelerator does.
  const bool host = beside && catalog.roleOf(segment.lane) == model::LaneRole::hostThread;
  Target& target = targets_[nextTarget_++ % targets_.size()];
  target = {&use, placement.pass, staged, nullptr, nullptr, {}, {}};
  target.placed = &(host ? hosts_ : beside ? others_ : placements_)[segment.lane];
  target.work = host                                        ? &hostWork_
                : beside                                    ? &otherWork_
                : placement.pass == model::Pass::collective ? &collectives_
                                                            : &working_;
  for (const auto& [lane, ticks] : use.byLane) {
    const model::LaneRole role = catalog.roleOf(lane);
    target.byLane.emplace_back(&result_.byLane[role], ticks);
    Used& used = used_[role];
    used.lanes.insert(lane);
    if (std::ranges::find(target.used, &used.placements) == target.used.end())
      target.used.push_back(&used.placements);
  }
  return target;
}

void DeviceSums::add(const model::Transfer& transfer, bool incoming, model::LaneRole role) {
  transfers_.add(transfer.start, transfer.end);
  transfersByLane_[role].add(transfer.start, transfer.end);
  (incoming ? result_.globalIn : result_.globalOut) += transfer.bytes;
}

void DeviceSums::add(const model::Wait& wait) {
  waits_[wait.cause].add(wait.start, wait.end);
}

std::vector<DeviceSums::RecordedSegment> DeviceSums::recordedSegments() const {
  std::vector<RecordedSegment> segments;
  if (hasPasses()) return segments;
  for (const auto& [lane, placements] : others_)
    for (const Placed& placed : placements)
      segments.push_back({lane, placed.segment, placed.start, placed.end});
  std::ranges::stable_sort(segments, {}, &RecordedSegment::start);
  return segments;
}

void DeviceSums::addRecorded(std::vector<RecordedStep> steps, model::LaneRole role) {
  if (!recorded_) otherWork_ = working_ = {};
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
    Intervals& works = recordedByRole_[role];
    if (step.kind != StepKind::sync) works.add(from, step.end);
    (step.kind == StepKind::globalExchange ? collectives_ : working_).add(from, step.end);
  }
  own.add(Intervals(placed_));
  placed_ = own.joined();
}

void DeviceSums::foldRecorded() {
  folded_.placed += lengthOf(placed_);
  folded_.communicating += collectives_.unionLength();
  folded_.exposed += freeLength(working_.joined(), collectives_.joined());
  for (const auto& [role, work] : recordedByRole_) folded_.byRole[role] += work.unionLength();
  placed_ = {};
  collectives_ = working_ = {};
  recordedByRole_.clear();
}

bool DeviceSums::unused() const {
  return !recorded_ && working_.empty() && otherWork_.empty() && hostWork_.empty() && collectives_.empty() &&
         transfers_.empty();
}

std::vector<DeviceSums::Stretch> DeviceSums::place() {
  std::vector<Stretch> cut;
  Intervals all;
  if (recorded_) return cut;  // addRecorded() has counted its steps
  if (!hasPasses() && !others_.empty()) {
    placements_ = std::move(others_);
    working_ = std::move(otherWork_);
  } else if (!hasPasses() && !hosts_.empty()) {
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

void DeviceSums::addKinds(const TicksByKind& ticks) {
  for (std::size_t kind = 0; kind < kStepKinds; ++kind) result_.byKind[kind] += ticks[kind];
}

DeviceExecution DeviceSums::finish() {
  const std::vector<Intervals::Interval>& placed = placed_;
  limitLanes();
  // A trace holds slices for what its ranks exchange, too, which have counted already.
  if (measured_) transfersByLane_.clear();
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

void DeviceSums::limitLanes() {
  for (const auto& [role, work] : recordedByRole_) folded_.byRole[role] += work.unionLength();
  for (const auto& [role, ticks] : folded_.byRole) result_.byLane[role] = ticks;
  for (const auto& [role, used] : used_) {
    if (folded_.byRole.contains(role)) continue;
    if (used.lanes.size() > 1)
      result_.byLane[role] = std::min(result_.byLane[role], used.placements.unionLength());
  }
}

}  // namespace pipescope::analysis
