#include <algorithm>
#include <cmath>

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
    for (const TraceTrack& track : device_.tracks) {
      covered_ = busy_.joined();
      addTrack(track.placements);
    }
    for (const TracePlacement& placement : device_.crowded) {
      covered_ = busy_.joined();
      if (placement.end > from_ && placement.start < to_) addPlacement(placement);
    }
    for (const TransferLane& lane : device_.transferLanes) addTransfers(lane);
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
  void addTrack(const std::vector<TracePlacement>& placements) {
    for (std::size_t i = analysis::firstEndingAfter(placements, from_); i < placements.size(); ++i) {
      const TracePlacement& placement = placements[i];
      if (placement.start >= to_) break;
      if (placement.end > placement.start) addPlacement(placement);
    }
  }

  void addPlacement(const TracePlacement& placement) {
    const TraceSegment* segment = trace_.segmentOf(placement);
    const Ticks start = std::max(placement.start, from_), end = std::min(placement.end, to_);
    busy_.add(start, end);
    // Another track has already counted the times in `covered_`.
    forEachFreePart(covered_, start, end,
                    [&](Ticks from, Ticks to) { addPiece(placement, segment, from, to); });
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

  void addTransfers(const TransferLane& lane) {
    const auto row = [&](std::int32_t index) -> const model::Transfer& {
      return trace_.transfers[static_cast<std::size_t>(index)];
    };
    auto at = std::partition_point(lane.transfers.begin(), lane.transfers.end(),
                                   [&](std::int32_t index) { return row(index).end <= from_; });
    for (; at != lane.transfers.end() && row(*at).start < to_; ++at) {
      const model::Transfer& transfer = row(*at);
      if (transfer.kind == model::TransferKind::arrow) continue;
      moving_.add(std::max(transfer.start, from_), std::min(transfer.end, to_));
      if (transfer.end > to_) continue;
      const bool host = !lane.peer.valid();
      (host ? (lane.outgoing ? result_.streamOut : result_.streamIn)
            : (lane.outgoing ? result_.globalOut : result_.globalIn)) += transfer.bytes;
    }
  }

  const Trace& trace_;
  const DeviceTrace& device_;
  Ticks from_, to_;
  RangeStatistics result_;
  base::Intervals busy_, moving_;
  std::vector<base::Intervals::Interval> covered_;  ///< times that earlier tracks have counted
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
