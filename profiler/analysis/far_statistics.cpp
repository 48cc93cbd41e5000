#include "profiler/analysis/far_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "profiler/analysis/pass_kind.h"

namespace pipescope::analysis {
namespace {

class FarReader {
 public:
  FarReader(const model::ProfileSource& source, const Trace& trace, Ticks from, Ticks to, base::Progress& progress)
      : source_(source), trace_(trace), from_(from), to_(to), progress_(progress), sums_(trace.devices.size()) {
    for (const model::Run& run : trace.runs) runs_.push_back(run.id);
  }

  Result<std::vector<RangeStatistics>> read() {
    PIPESCOPE_TRY(readRows<model::Placement>([this](const model::Placement& row) { addPlacement(row); }));
    PIPESCOPE_TRY(readSteps());
    PIPESCOPE_TRY(readRows<model::Transfer>([this](const model::Transfer& row) { addTransfer(row); }));
    std::vector<RangeStatistics> rows;
    for (std::size_t d = 0; d < sums_.size(); ++d) rows.push_back(finish(static_cast<std::int32_t>(d)));
    return rows;
  }

 private:
  struct Sums {
    std::array<double, kStepKinds> byKind{};  // axis ticks
    double unitTicks = 0, balance = 0, balanceOf = 0;
    Bytes streamIn, streamOut, globalIn, globalOut;
  };

  /// Placements of a segment on a device within the stretch.
  struct Use {
    double share = 0, ended = 0;  ///< of them, and how many end in it
    double inside = 0;            ///< axis ticks
    bool hasSteps = false;
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

  /// Blocks tell times in ticks of their rows' devices, which can be skipped by only where all have one timebase.
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
    const double start = axis(device, row.start), end = axis(device, row.end), to = static_cast<double>(to_.count);
    const double inside = std::min(end, to) - std::max(start, static_cast<double>(from_.count));
    if (inside <= 0) return;
    Use& use = placed_[row.segment][index];
    use.share += inside / (end - start);
    use.inside += inside;
    if (end <= to) use.ended += 1;
  }

  /// Steps of what was placed, as often as it was.
  base::Status readSteps() {
    if (placed_.empty()) return {};
    const auto [first, last] = std::minmax_element(
        placed_.begin(), placed_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (progress_.cancelled()) return base::cancelled("Reading the steps was stopped.");
      if (blocks[i].rows == 0) continue;
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source_.ranges<model::Step>(i));
      if (!ranges.empty() && !ranges.front().mayMeet(first->first.value, last->first.value)) continue;
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(i));
      for (const model::Step& step : *rows) {
        const auto found = placed_.find(step.segment);
        if (found == placed_.end() || step.ticks.count <= 0) continue;
        for (auto& [device, use] : found->second) addStep(device, use, step);
      }
    }
    // What has no steps counts as one step of its pass's kind.
    for (const TraceSegment& segment : trace_.segments) {
      const auto found = placed_.find(segment.id);
      if (found == placed_.end()) continue;
      for (const auto& [device, use] : found->second) {
        if (!use.hasSteps) sums_[static_cast<std::size_t>(device)].byKind[kindIndex(kindOfPass(segment.pass))] += use.inside;
      }
    }
    return {};
  }

  void addStep(std::int32_t index, Use& use, const model::Step& step) {
    use.hasSteps = true;
    Sums& sums = sums_[static_cast<std::size_t>(index)];
    const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(index)];
    sums.byKind[kindIndex(step.kind)] += axis(device, step.ticks) * use.share;
    if (step.kind == model::StepKind::streamCopy) {
      sums.streamIn += Bytes(std::llround(static_cast<double>(step.bytesIn.count) * use.ended));
      sums.streamOut += Bytes(std::llround(static_cast<double>(step.bytesOut.count) * use.ended));
    }
    if (step.kind != model::StepKind::compute) return;
    sums.unitTicks += step.meanTicks * static_cast<double>(device.units) * device.axisTicksPerTick * use.share;
    if (step.maxTicks.count <= 0) return;
    sums.balance += step.meanTicks / static_cast<double>(step.maxTicks.count) * use.ended;
    sums.balanceOf += use.ended;
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
    if (row.total.count > 0)
      row.parallelEfficiency =
          sums.unitTicks / (static_cast<double>(row.total.count) * static_cast<double>(device.units));
    return row;
  }

  const model::ProfileSource& source_;
  const Trace& trace_;
  Ticks from_, to_;
  base::Progress& progress_;
  std::vector<Sums> sums_;
  std::unordered_map<model::SegmentId, std::map<std::int32_t, Use>> placed_;  ///< by device index
  std::vector<model::RunId> runs_;
};

}  // namespace

Result<std::vector<RangeStatistics>> farStatistics(const model::ProfileSource& source, const Trace& trace, Ticks from,
                                                   Ticks to, base::Progress& progress) {
  return FarReader(source, trace, from, to, progress).read();
}

}  // namespace pipescope::analysis
