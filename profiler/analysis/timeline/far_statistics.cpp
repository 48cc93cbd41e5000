#include "profiler/analysis/timeline/far_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "profiler/analysis/intervals.h"

namespace pipescope::analysis {
namespace {

class FarReader {
 public:
  FarReader(const model::ProfileSource& source, const Trace& trace, Ticks from, Ticks to,
            base::Progress& progress)
      : source_(source),
        trace_(trace),
        from_(from),
        to_(to),
        progress_(progress),
        sums_(trace.devices.size()) {
    for (const model::Run& run : trace.runs) runs_.push_back(run.id);
  }

  Result<std::vector<RangeStatistics>> read() {
    PIPESCOPE_TRY(readRows<model::Placement>([this](const model::Placement& row) { addPlacement(row); }));
    takeSideBySide();
    PIPESCOPE_TRY(readSteps());
    PIPESCOPE_TRY(readRows<model::Transfer>([this](const model::Transfer& row) { addTransfer(row); }));
    std::vector<RangeStatistics> rows;
    for (std::size_t d = 0; d < sums_.size(); ++d) {
      if (trace_.devices[d].recorded) rows.push_back(finish(static_cast<std::int32_t>(d)));
    }
    return rows;
  }

 private:
  struct Sums {
    std::array<double, kStepKinds> byKind{};  // axis ticks
    double unitTicks = 0, balance = 0, balanceOf = 0;
    Bytes streamIn, streamOut, globalIn, globalOut;
  };

  /// The placements of one segment on one device within the stretch.
  struct Use {
    /// Placements, each counted by its share within the stretch; and how many of them end in it.
    double share = 0, ended = 0;
  };

  /// A placement on a device whose lanes work at the same time.
  struct Beside {
    Ticks start, end;  ///< axis ticks, within the stretch
    model::SegmentId segment;
    double length = 0;
    bool ended = false;
  };

  template <class Row, class Add>
  base::Status readRows(const Add& add) {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<Row>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (progress_.cancelled()) return base::cancelled("Reading the trace was stopped.");
      if (blocks[i].rows == 0 || !mayMeet(blocks[i])) continue;
      PIPESCOPE_ASSIGN(const model::Rows<Row> rows, source_.block<Row>(i));
      for (const Row& row : *rows) {
        if (std::find(runs_.begin(), runs_.end(), row.run) != runs_.end()) add(row);
      }
    }
    return {};
  }

  /// Blocks give their times in ticks of their rows' devices. A block can be skipped by its times only if all
  /// devices have the same timebase.
  bool mayMeet(const model::BlockInfo& block) const {
    const bool same = std::all_of(trace_.devices.begin(), trace_.devices.end(),
                                  [](const DeviceTrace& device) { return device.axisTicksPerTick == 1; });
    return !same || !block.hasTime || (block.start < to_ && block.end >= from_);
  }

  static double axis(const DeviceTrace& device, Ticks ticks) {
    return static_cast<double>(ticks.count) * device.axisTicksPerTick;
  }

  void addPlacement(const model::Placement& row) {
    const std::int32_t index = trace_.deviceIndex(row.device);
    if (index < 0 || !row.segment.valid() || row.end <= row.start) return;
    const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(index)];
    const double start = axis(device, row.start), end = axis(device, row.end),
                 to = static_cast<double>(to_.count);
    const double inside = std::min(end, to) - std::max(start, static_cast<double>(from_.count));
    if (inside <= 0) return;
    if (device.tracks.size() > 1) {
      const auto within = [&](double time) { return std::clamp(Ticks(std::llround(time)), from_, to_); };
      beside_[index][laneOf(row.segment)].push_back(
          {within(start), within(end), row.segment, end - start, end <= to});
      return;
    }
    Use& use = placed_[row.segment][index];
    use.share += inside / (end - start);
    if (end <= to) use.ended += 1;
  }

  model::LaneId laneOf(model::SegmentId segment) {
    if (lanes_.empty()) {
      for (const TraceSegment& row : trace_.segments) lanes_[row.id] = row.lane;
    }
    const auto found = lanes_.find(segment);
    return found == lanes_.end() ? model::LaneId() : found->second;
  }

  /// Each moment counts on the first lane that works in it, as in the sums of rows that were read one by one.
  void takeSideBySide() {
    for (auto& [index, lanes] : beside_) {
      std::vector<Intervals::Interval> covered;
      Intervals busy;
      for (auto& [lane, placements] : lanes) takeLane(index, placements, covered, busy);
    }
  }

  void takeLane(std::int32_t index, std::vector<Beside>& placements,
                std::vector<Intervals::Interval>& covered, Intervals& busy) {
    std::sort(placements.begin(), placements.end(),
              [](const Beside& a, const Beside& b) { return a.start < b.start; });
    for (const Beside& row : placements) {
      Ticks free;
      forEachFreePart(covered, row.start, row.end, [&](Ticks from, Ticks to) { free += to - from; });
      Use& use = placed_[row.segment][index];
      use.share += static_cast<double>(free.count) / row.length;
      use.ended += row.ended ? 1 : 0;
      busy.add(row.start, row.end);
    }
    covered = busy.joined();
  }

  /// Adds the steps of the placed segments, each as often as its segment was placed.
  base::Status readSteps() {
    std::vector<SegmentFacts> wanted;
    for (const TraceSegment& segment : trace_.segments) {
      if (placed_.contains(segment.id))
        wanted.push_back({segment.id, segment.pass, segment.lane, segment.ticks});
    }
    PIPESCOPE_ASSIGN(const auto uses, segmentUses(source_, wanted, progress_));
    for (const SegmentFacts& segment : wanted) {
      for (const auto& [index, use] : placed_.at(segment.id)) add(index, uses.at(segment.id), use);
    }
    return {};
  }

  void add(std::int32_t index, const SegmentUse& segment, const Use& placed) {
    Sums& sums = sums_[static_cast<std::size_t>(index)];
    const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(index)];
    for (std::size_t kind = 0; kind < kStepKinds; ++kind)
      sums.byKind[kind] += axis(device, Ticks(segment.byKind[kind])) * placed.share;
    const auto often = [&](Bytes bytes) {
      return Bytes(std::llround(static_cast<double>(bytes.count) * placed.ended));
    };
    sums.streamIn += often(segment.streamIn);
    sums.streamOut += often(segment.streamOut);
    sums.globalIn += often(segment.globalIn);
    sums.globalOut += often(segment.globalOut);
    sums.unitTicks +=
        segment.computeMean * static_cast<double>(device.units) * device.axisTicksPerTick * placed.share;
    sums.balance += segment.balanceSum * placed.ended;
    sums.balanceOf += static_cast<double>(segment.computeSteps) * placed.ended;
  }

  void addTransfer(const model::Transfer& row) {
    const std::int32_t from = trace_.deviceOfLane(row.fromLane), to = trace_.deviceOfLane(row.toLane);
    const std::int32_t clock = from >= 0 ? from : to;
    if (clock < 0) return;
    const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(clock)];
    const double end = axis(device, row.end);
    if (end <= static_cast<double>(from_.count) || end > static_cast<double>(to_.count)) return;
    if (from >= 0) {
      Sums& sums = sums_[static_cast<std::size_t>(from)];
      (to < 0 ? sums.streamOut : sums.globalOut) += row.bytes;
    }
    if (to >= 0) {
      Sums& sums = sums_[static_cast<std::size_t>(to)];
      (from < 0 ? sums.streamIn : sums.globalIn) += row.bytes;
    }
  }

  RangeStatistics finish(std::int32_t index) const {
    const Sums& sums = sums_[static_cast<std::size_t>(index)];
    const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(index)];
    RangeStatistics row;
    row.device = index;
    row.total = to_ - from_;
    std::int64_t busy = 0;
    for (std::size_t kind = 0; kind < kStepKinds; ++kind) {
      row.byKind[kind] = std::llround(sums.byKind[kind]);
      busy += row.byKind[kind];
    }
    row.idle = std::max(Ticks(0), row.total - Ticks(busy));
    row.streamIn = sums.streamIn;
    row.streamOut = sums.streamOut;
    row.globalIn = sums.globalIn;
    row.globalOut = sums.globalOut;
    if (sums.balanceOf > 0) row.tileBalance = sums.balance / sums.balanceOf;
    const double computing =
        device.units > 1 ? sums.unitTicks : sums.byKind[kindIndex(model::StepKind::compute)];
    if (row.total.count > 0)
      row.parallelEfficiency =
          computing / (static_cast<double>(row.total.count) * static_cast<double>(device.units));
    return row;
  }

  const model::ProfileSource& source_;
  const Trace& trace_;
  Ticks from_, to_;
  base::Progress& progress_;
  std::vector<Sums> sums_;
  std::unordered_map<model::SegmentId, std::map<std::int32_t, Use>> placed_;  ///< by device index
  std::unordered_map<model::SegmentId, model::LaneId> lanes_;
  std::map<std::int32_t, std::map<model::LaneId, std::vector<Beside>>> beside_;  ///< by device index and lane
  std::vector<model::RunId> runs_;
};

}  // namespace

Result<std::vector<RangeStatistics>> farStatistics(const model::ProfileSource& source, const Trace& trace,
                                                   Ticks from, Ticks to, base::Progress& progress) {
  return FarReader(source, trace, from, to, progress).read();
}

}  // namespace pipescope::analysis
