#include "profiler/analysis/timeline/far_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "profiler/analysis/counted_once.h"
#include "profiler/base/intervals.h"

namespace pipescope::analysis {
namespace {

class FarReader {
 public:
  FarReader(const model::ProfileSource& source, const Trace& trace, base::Progress& progress)
      : source_(source), trace_(trace), progress_(progress), sums_(trace.devices.size()) {
    for (const model::Run& run : trace.runs) runs_.push_back(run.id);
    sameTimebase_ = std::all_of(trace.devices.begin(), trace.devices.end(),
                                [](const DeviceTrace& device) { return device.axisTicksPerTick == 1; });
  }

  Result<std::vector<RangeStatistics>> read(Ticks from, Ticks to, std::int64_t rowsAtOnce) {
    PIPESCOPE_ASSIGN(const std::vector<Ticks> borders, bordersOf(from, to, rowsAtOnce));
    for (std::size_t i = 0; i + 1 < borders.size(); ++i)
      PIPESCOPE_TRY(addStretch(borders[i], borders[i + 1]));
    PIPESCOPE_TRY(readSteps());
    std::vector<RangeStatistics> rows;
    for (std::size_t d = 0; d < sums_.size(); ++d) {
      if (trace_.devices[d].recorded) rows.push_back(finish(static_cast<std::int32_t>(d), to - from));
    }
    return rows;
  }

 private:
  struct Sums {
    std::array<double, kStepKinds> byKind{};  // axis ticks
    double unitTicks = 0, balance = 0, balanceOf = 0;
    Bytes streamIn, streamOut, globalIn, globalOut;
    Ticks outside;                 ///< time of transfers outside placements
    base::Intervals busy, moving;  ///< placements and transfers of one stretch
  };

  /// The placements of one segment on one device.
  struct Use {
    /// Placements, each counted by its share within the range; and how many of them end in it.
    double share = 0, ended = 0;
  };

  /// A placement, which others of its device may overlap.
  struct Beside {
    Ticks start, end;  ///< axis ticks, within one stretch
    model::SegmentId segment;
    double length = 0;
    bool ended = false;
  };

  /// Borders of stretches whose blocks hold about so many placements and transfers. Rows of one stretch are
  /// kept at a time.
  Result<std::vector<Ticks>> bordersOf(Ticks from, Ticks to, std::int64_t rowsAtOnce) {
    std::vector<Ticks> borders = {from};
    PIPESCOPE_ASSIGN(std::vector<model::BlockInfo> blocks, source_.blocks<model::Placement>());
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> transfers, source_.blocks<model::Transfer>());
    blocks.insert(blocks.end(), transfers.begin(), transfers.end());
    std::ranges::stable_sort(blocks, {}, &model::BlockInfo::start);
    std::int64_t rows = 0;
    for (const model::BlockInfo& block : blocks) {
      if (!sameTimebase_ || !block.hasTime || block.start >= to) break;
      if (block.end < from) continue;
      if (rows >= rowsAtOnce && block.start > borders.back()) {
        borders.push_back(block.start);
        rows = 0;
      }
      rows += block.rows;
    }
    borders.push_back(to);
    return borders;
  }

  base::Status addStretch(Ticks from, Ticks to) {
    from_ = from;
    to_ = to;
    PIPESCOPE_TRY(readRows<model::Placement>([this](const model::Placement& row) { addPlacement(row); }));
    takeSideBySide();
    PIPESCOPE_TRY(readRows<model::Transfer>([this](const model::Transfer& row) { addTransfer(row); }));
    for (Sums& sums : sums_) {
      sums.outside += freeLength(sums.busy.joined(), sums.moving.joined());
      sums.busy = sums.moving = {};
    }
    return {};
  }

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
    return !sameTimebase_ || !block.hasTime || (block.start < to_ && block.end >= from_);
  }

  static double axis(const DeviceTrace& device, Ticks ticks) {
    return static_cast<double>(ticks.count) * device.axisTicksPerTick;
  }

  Ticks within(double time) const { return std::clamp(Ticks(std::llround(time)), from_, to_); }

  void addPlacement(const model::Placement& row) {
    const std::int32_t index = trace_.deviceIndex(row.device);
    if (index < 0 || !row.segment.valid() || row.end <= row.start) return;
    const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(index)];
    const double start = axis(device, row.start), end = axis(device, row.end),
                 to = static_cast<double>(to_.count);
    const double inside = std::min(end, to) - std::max(start, static_cast<double>(from_.count));
    if (inside <= 0) return;
    sums_[static_cast<std::size_t>(index)].busy.add(within(start), within(end));
    beside_[index][laneOf(row.segment)].push_back(
        {within(start), within(end), row.segment, end - start, end <= to});
  }

  model::LaneId laneOf(model::SegmentId segment) {
    if (lanes_.empty()) {
      for (const TraceSegment& row : trace_.segments) lanes_[row.id] = row.lane;
    }
    const auto found = lanes_.find(segment);
    return found == lanes_.end() ? model::LaneId() : found->second;
  }

  /// Counts each moment once, as in the sums of rows that were read one by one.
  void takeSideBySide() {
    for (auto& [index, lanes] : beside_) {
      CountedOnce counted;
      for (auto& [lane, placements] : lanes) takeLane(index, placements, counted);
    }
    beside_.clear();
  }

  void takeLane(std::int32_t index, std::vector<Beside>& placements, CountedOnce& counted) {
    counted.nextLane();
    std::ranges::stable_sort(placements, {}, &Beside::start);
    for (const Beside& row : placements) {
      Ticks free;
      counted.add(row.start, row.end, [&](Ticks from, Ticks to) { free += to - from; });
      Use& use = placed_[row.segment][index];
      use.share += static_cast<double>(free.count) / row.length;
      use.ended += row.ended ? 1 : 0;
    }
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
    if (row.kind == model::TransferKind::arrow) return;
    const std::int32_t from = trace_.deviceOfLane(row.fromLane), to = trace_.deviceOfLane(row.toLane);
    const std::int32_t clock = from >= 0 ? from : to;
    if (clock < 0) return;
    const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(clock)];
    const double start = axis(device, row.start), end = axis(device, row.end);
    for (const std::int32_t index : {from, to})
      if (index >= 0) sums_[static_cast<std::size_t>(index)].moving.add(within(start), within(end));
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

  RangeStatistics finish(std::int32_t index, Ticks total) const {
    const Sums& sums = sums_[static_cast<std::size_t>(index)];
    const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(index)];
    RangeStatistics row;
    row.device = index;
    row.total = total;
    for (std::size_t kind = 0; kind < kStepKinds; ++kind) row.byKind[kind] = std::llround(sums.byKind[kind]);
    row.byKind[kindIndex(model::StepKind::globalExchange)] += sums.outside.count;
    std::int64_t busy = 0;
    for (const std::int64_t ticks : row.byKind) busy += ticks;
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
  base::Progress& progress_;
  bool sameTimebase_ = true;
  Ticks from_, to_;  ///< ends of the stretch that is read
  std::vector<Sums> sums_;
  std::unordered_map<model::SegmentId, std::map<std::int32_t, Use>> placed_;  ///< second key: device index
  std::unordered_map<model::SegmentId, model::LaneId> lanes_;
  std::map<std::int32_t, std::map<model::LaneId, std::vector<Beside>>> beside_;  ///< keys: device index, lane
  std::vector<model::RunId> runs_;
};

}  // namespace

Result<std::vector<RangeStatistics>> farStatistics(const model::ProfileSource& source, const Trace& trace,
                                                   Ticks from, Ticks to, base::Progress& progress,
                                                   std::int64_t rowsAtOnce) {
  return FarReader(source, trace, progress).read(from, to, rowsAtOnce);
}

}  // namespace pipescope::analysis
