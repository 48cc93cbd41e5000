#include "profiler/analysis/pipeline/device_sums.h"

#include <algorithm>

#include "profiler/analysis/counted_once.h"

namespace pipescope::analysis {

using model::StepKind;

namespace {

/// The length of stretches that do not overlap.
Ticks lengthOf(const std::vector<base::Intervals::Interval>& joined) {
  Ticks length;
  for (const auto& [start, end] : joined) length += end - start;
  return length;
}

}  // namespace

base::IdVector<model::DeviceId, Counted> countedOf(const Catalog& catalog, model::ExecutableId executable) {
  struct Known {
    bool passes = false, slices = false, host = false;
  };
  base::IdVector<model::DeviceId, Known> devices;
  for (std::size_t d = 0; d < catalog.devices.size(); ++d) devices.emplace_back();
  for (const model::Segment& segment : catalog.segments) {
    Known* known = segment.executable == executable ? devices.find(segment.device) : nullptr;
    if (known == nullptr) continue;
    const bool host = catalog.roleOf(segment.lane) == model::LaneRole::hostThread;
    if (segment.stage >= 0)
      known->passes = known->passes || model::isComputePass(segment.pass);
    else if (segment.pass == model::Pass::other)
      (host ? known->host : known->slices) = true;
  }
  base::IdVector<model::DeviceId, Counted> counted;
  for (const Known& known : devices)
    counted.emplace_back(known.passes || !(known.slices || known.host) ? Counted::passes
                         : known.slices                                ? Counted::slices
                                                                       : Counted::host);
  return counted;
}

DeviceSums::DeviceSums(const Catalog& catalog, const model::Device& device, const model::Run& run,
                       Counted counted)
    : measured_(catalog.measured()), counted_(counted) {
  result_.index = static_cast<int>(device.id.value);
  result_.name = device.name;
  result_.kind = device.kind;
  result_.clockHz = device.ticksPerSecond;
  const base::Timebase axis = catalog.timebase({}), own{device.ticksPerSecond};
  result_.total = base::convertRoundUp(run.end - run.start, axis, own);
  if (measured_) {
    from_ = base::convertRoundUp(run.start, axis, own);
    to_ = from_ + result_.total;
  }
  units_ = std::max<std::int64_t>(1, device.units);
}

void DeviceSums::add(const model::Placement& placement, const model::Segment& segment, const SegmentUse& use,
                     const Catalog& catalog) {
  if (isOutside(placement.start, placement.end)) return;
  result_.placed = true;
  const Ticks start = std::max(placement.start, from_), end = std::min(placement.end, to_);
  const bool whole = start == placement.start && end == placement.end;
  const Target& target = targetOf(placement, segment, use, catalog);
  target.placed->push_back({start, end, placement.start, whole, &use, segment.id});
  target.work->add(start, end);
  for (const auto& [sum, ticks] : target.byLane) *sum += ticks;
  for (base::Intervals* used : target.used) used->add(start, end);
  if (target.beside && !whole)
    cutSlices_.push_back({segment.id, placement.start, from_, to_});
  else if (end == placement.end)
    addSteps(use);
  if (end == placement.end && !measured_ && placement.pass != model::Pass::collective) {
    // Collectives may run within a pass, such as gathers of divided weights. The part that no other lane of
    // the pass hides counts as an exchange of its time.
    folded_.communicating += use.communicating;
    folded_.exposed += Ticks(use.byKind[kindIndex(StepKind::globalExchange)]);
  }
}

void DeviceSums::addSteps(const SegmentUse& steps) {
  result_.streamIn += steps.streamIn;
  result_.streamOut += steps.streamOut;
  result_.exchangeIn += steps.exchangeIn;
  result_.exchangeOut += steps.exchangeOut;
  result_.globalIn += steps.globalIn;
  result_.globalOut += steps.globalOut;
  result_.computeBytes += steps.computeBytes;
  balanceSum_ += steps.balanceSum;
  computeMean_ += steps.computeMean;
  computeSteps_ += steps.computeSteps;
}

const DeviceSums::Target& DeviceSums::targetOf(const model::Placement& placement,
                                               const model::Segment& segment, const SegmentUse& use,
                                               const Catalog& catalog) {
  // A device repeats some segments in turns, with interleaved stages about ten for each.
  constexpr std::size_t kTargets = 64;
  if (targets_.empty()) targets_.resize(kTargets);
  const bool staged = placement.stage >= 0;
  const std::size_t place = static_cast<std::size_t>(segment.id.value) % kTargets;
  Target& target = targets_[place];
  if (target.use == &use && target.pass == placement.pass && target.staged == staged) return target;
  // Everything but the recognised passes of a trace lies within them, or beside them on other lanes.
  const bool beside = placement.pass == model::Pass::other && !staged;
  // Threads of the host only start what an accelerator does.
  const bool host = beside && catalog.roleOf(segment.lane) == model::LaneRole::hostThread;
  target = {&use, placement.pass, staged, beside, nullptr, nullptr, {}, {}};
  target.placed = &(host ? hosts_ : beside ? others_ : placements_)[segment.lane];
  target.work = host                                        ? &hostWork_
                : beside                                    ? &otherWork_
                : placement.pass == model::Pass::collective ? &collectives_
                                                            : &working_;
  for (const auto& [lane, ticks] : use.byLane) {
    const model::LaneRole role = catalog.roleOf(lane);
    // The passes of a stage stand for what the streams of kernels do meanwhile. Receive kernels beside them
    // only wait.
    if (beside && counted_ == Counted::passes && role == model::LaneRole::compute) continue;
    target.byLane.emplace_back(&result_.byLane[role], ticks);
    Used& used = used_[role];
    used.lanes.insert(lane);
    if (std::ranges::find(target.used, &used.placements) == target.used.end())
      target.used.push_back(&used.placements);
  }
  return target;
}

void DeviceSums::add(const model::Transfer& transfer, bool incoming, model::LaneRole role) {
  const Ticks start = std::max(transfer.start, from_), end = std::min(transfer.end, to_);
  transfers_.add(start, end);
  transfersByLane_[role].add(start, end);
  if (isOutside(transfer.start, transfer.end) || transfer.end > to_) return;
  (incoming ? result_.globalIn : result_.globalOut) += transfer.bytes;
}

void DeviceSums::add(const model::Wait& wait) {
  waits_[wait.cause].add(std::max(wait.start, from_), std::min(wait.end, to_));
}

std::vector<DeviceSums::RecordedSegment> DeviceSums::recordedSegments() const {
  std::vector<RecordedSegment> segments;
  if (counted_ == Counted::passes) return segments;
  const bool host = counted_ == Counted::host;
  for (const auto& [lane, placements] : host ? hosts_ : others_)
    for (const Placed& placed : placements)
      segments.push_back({lane, placed.segment, placed.origin, placed.end, host});
  std::ranges::stable_sort(segments, {}, &RecordedSegment::start);
  return segments;
}

std::vector<DeviceSums::RecordedStep> DeviceSums::hostPasses(Ticks from, Ticks to,
                                                             const Catalog& catalog) const {
  std::vector<RecordedStep> steps;
  if (counted_ != Counted::host) return steps;
  for (const auto& [lane, placements] : placements_)
    for (const Placed& placed : placements) {
      const TicksByKind& kinds = placed.use->byKind;
      const auto kind = static_cast<StepKind>(std::ranges::max_element(kinds) - kinds.begin());
      const Ticks start = std::max(placed.start, from), end = std::min(placed.end, to);
      if (start < end) steps.push_back({start, end, kind, catalog.roleOf(lane)});
    }
  return steps;
}

void DeviceSums::addRecorded(std::vector<RecordedStep> steps) {
  if (!recorded_) otherWork_ = working_ = {};
  recorded_ = true;
  std::ranges::stable_sort(
      steps, {}, [](const RecordedStep& step) { return std::pair(placeOfKind(step.kind), step.start); });
  for (auto next = steps.begin(); next != steps.end();) {
    const model::StepKind kind = next->kind;
    base::Intervals same;
    for (; next != steps.end() && next->kind == kind; ++next) {
      same.add(next->start, next->end);
      if (kind != StepKind::sync) recordedByRole_[next->role].add(next->start, next->end);
    }
    result_.byKind[kindIndex(kind)] += freeLength(placed_, same.joined()).count;
    if (kind == StepKind::globalExchange) collectives_.add(same);
    if (kind == StepKind::compute) working_.add(same);
    same.add(base::Intervals(placed_));
    placed_ = same.joined();
  }
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
  if (recorded_) return cut;  // addRecorded() has counted its steps
  CountedOnce counted;
  for (auto& [lane, placements] : placements_) {
    counted.nextLane();
    std::ranges::stable_sort(placements, {}, &Placed::start);
    for (const Placed& placed : placements) {
      if (placed.end <= placed.start) continue;
      counted.add(placed.start, placed.end, [&](Ticks from, Ticks to) {
        if (placed.whole && from == placed.start && to == placed.end) return addKinds(placed.use->byKind);
        cut.push_back({placed.segment, from - placed.origin, to - placed.origin});
      });
    }
  }
  placed_ = counted.busy();
  return cut;
}

void DeviceSums::addKinds(const TicksByKind& ticks) {
  for (std::size_t kind = 0; kind < kStepKinds; ++kind) result_.byKind[kind] += ticks[kind];
}

DeviceExecution DeviceSums::finish() {
  const std::vector<base::Intervals::Interval>& placed = placed_;
  limitLanes();
  // A trace holds slices for what its ranks exchange, too, which have counted already.
  if (measured_) transfersByLane_.clear();
  for (const auto& [role, transfers] : transfersByLane_) {
    // A lane sends for a collective and for a stage at the same time.
    static const std::vector<base::Intervals::Interval> kNothing;
    const bool shared = used_.contains(role);
    const Ticks length = freeLength(shared ? collectives_.joined() : kNothing, transfers.joined());
    if (length.count > 0) result_.byLane[role] += length;
  }
  result_.transfersOutside = freeLength(placed, transfers_.joined());
  result_.byKind[kindIndex(StepKind::globalExchange)] += result_.transfersOutside.count;
  result_.idle = result_.total - lengthOf(placed) - folded_.placed - result_.transfersOutside;
  base::Intervals busy(placed);
  for (const auto& [cause, waits] : waits_) {
    // A moment counts for one cause.
    result_.waits[cause] = freeLength(busy.joined(), waits.joined());
    busy.add(waits);
  }
  result_.transfersAlone = freeLength(busy.joined(), transfers_.joined());
  base::Intervals communication = transfers_;
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
    result_.byLane[role] = std::min(result_.byLane[role], used.placements.unionLength());
  }
}

}  // namespace pipescope::analysis
