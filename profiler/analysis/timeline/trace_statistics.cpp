#include <algorithm>
#include <cmath>
#include <map>

#include "profiler/analysis/counted_once.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/base/intervals.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

class DeviceRange {
 public:
  DeviceRange(const Trace& trace, std::int32_t index, Ticks from, Ticks to)
      : trace_(trace), device_(trace.devices[static_cast<std::size_t>(index)]), from_(from), to_(to) {
    result_.device = index;
    result_.total = to - from;
  }

  RangeStatistics make() {
    for (const auto& [lane, placements] : placementsOfLanes()) {
      counted_.nextLane();
      for (const TracePlacement* placement : placements) addPlacement(*placement);
    }
    busy_ = base::Intervals(counted_.busy());
    for (const TransferLane& lane : device_.transferLanes) addTransfers(lane);
    for (const TransferLane& lane : device_.crowdedTransfers) {
      for (const std::int32_t index : lane.transfers) addTransfer(transferOf(index), lane.outgoing);
    }
    const Ticks outside = moving_.unionLength() - commonLength(moving_, busy_);
    base::addWrapped(result_.byKind[kindIndex(model::StepKind::globalExchange)], outside.count);
    result_.idle = std::max(Ticks(0), result_.total - busy_.unionLength() - outside);
    if (steps_ > 0) result_.tileBalance = balance_ / static_cast<double>(steps_);
    // A device without single units computes whenever one of its engines does.
    if (device_.units <= 1) {
      const auto computing = result_.byKind[kindIndex(model::StepKind::compute)];
      unitTicks_ = static_cast<double>(computing) / device_.axisTicksPerTick;
    }
    if (result_.total.count > 0) {
      const double all = static_cast<double>(result_.total.count) * static_cast<double>(device_.units);
      result_.parallelEfficiency = unitTicks_ * device_.axisTicksPerTick / all;
    }
    return result_;
  }

 private:
  /// Returns the placements that meet the range, by lane and then by start. A device whose placements never
  /// overlap has one track, and its lanes do not matter.
  std::map<model::LaneId, std::vector<const TracePlacement*>> placementsOfLanes() const {
    std::map<model::LaneId, std::vector<const TracePlacement*>> lanes;
    const bool split = device_.tracks.size() > 1 || !device_.crowded.empty();
    const auto add = [&](const TracePlacement& placement) {
      const TraceSegment* segment = split ? trace_.segmentOf(placement) : nullptr;
      if (placement.end > placement.start)
        lanes[segment == nullptr ? model::LaneId() : segment->lane].push_back(&placement);
    };
    for (const TraceTrack& track : device_.tracks) {
      const std::vector<TracePlacement>& all = track.placements;
      for (std::size_t i = firstEndingAfter(all, from_); i < all.size() && all[i].start < to_; ++i)
        add(all[i]);
    }
    for (const TracePlacement& placement : device_.crowded)
      if (placement.end > from_ && placement.start < to_) add(placement);
    for (auto& [lane, placements] : lanes)
      if (split)
        std::ranges::stable_sort(placements, {}, [](const TracePlacement* each) { return each->start; });
    return lanes;
  }

  void addPlacement(const TracePlacement& placement) {
    const TraceSegment* segment = trace_.segmentOf(placement);
    const Ticks start = std::max(placement.start, from_), end = std::min(placement.end, to_);
    counted_.add(start, end, [&](Ticks from, Ticks to) { addPiece(placement, segment, from, to); });
    if (segment == nullptr) return;
    const SegmentUse& use = segment->use;
    unitTicks_ += use.computeMean * static_cast<double>(device_.units) *
                  static_cast<double>((end - start).count) /
                  static_cast<double>((placement.end - placement.start).count);
    if (placement.end > to_) return;
    result_.streamIn += use.streamIn;
    result_.streamOut += use.streamOut;
    result_.globalIn += use.globalIn;
    result_.globalOut += use.globalOut;
    balance_ += use.balanceSum;
    steps_ += use.computeSteps;
  }

  void addPiece(const TracePlacement& placement, const TraceSegment* segment, Ticks start, Ticks end) {
    if (segment == nullptr) {
      base::addWrapped(result_.byKind[kindIndex(model::StepKind::control)], (end - start).count);
      return;
    }
    const bool whole = start == placement.start && end == placement.end;
    const double scale = device_.axisTicksPerTick;
    const auto offset = [&](Ticks time) {
      return Ticks(std::llround(static_cast<double>((time - placement.start).count) / scale));
    };
    const TicksByKind sums =
        whole ? segment->use.byKind
              : exclusiveTicks(segment->steps, segment->pass, segment->ticks, offset(start), offset(end));
    for (std::size_t kind = 0; kind < kStepKinds; ++kind) {
      result_.byKind[kind] +=
          scale == 1.0 ? sums[kind] : std::llround(static_cast<double>(sums[kind]) * scale);
    }
  }

  const model::Transfer& transferOf(std::int32_t index) const {
    return trace_.transfers[static_cast<std::size_t>(index)];
  }

  /// Adds the transfers of a lane, which do not overlap.
  void addTransfers(const TransferLane& lane) {
    auto at = std::partition_point(lane.transfers.begin(), lane.transfers.end(),
                                   [&](std::int32_t index) { return transferOf(index).end <= from_; });
    for (; at != lane.transfers.end() && transferOf(*at).start < to_; ++at)
      addTransfer(transferOf(*at), lane.outgoing);
  }

  void addTransfer(const model::Transfer& transfer, bool outgoing) {
    if (transfer.kind == model::TransferKind::arrow) return;
    if (transfer.end <= from_ || transfer.start >= to_) return;
    moving_.add(std::max(transfer.start, from_), std::min(transfer.end, to_));
    if (transfer.end > to_) return;
    const bool host = trace_.deviceOfLane(outgoing ? transfer.toLane : transfer.fromLane) < 0;
    (host ? (outgoing ? result_.streamOut : result_.streamIn)
          : (outgoing ? result_.globalOut : result_.globalIn)) += transfer.bytes;
  }

  const Trace& trace_;
  const DeviceTrace& device_;
  Ticks from_, to_;
  RangeStatistics result_;
  CountedOnce counted_;
  base::Intervals busy_, moving_;
  double unitTicks_ = 0, balance_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

std::vector<RangeStatistics> rangeStatistics(const Trace& trace, Ticks from, Ticks to) {
  std::vector<RangeStatistics> rows;
  for (std::size_t i = 0; i < trace.devices.size(); ++i) {
    if (!trace.devices[i].recorded) continue;
    rows.push_back(DeviceRange(trace, static_cast<std::int32_t>(i), from, to).make());
  }
  return rows;
}

}  // namespace pipescope::analysis
