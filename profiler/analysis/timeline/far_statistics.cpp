#include "profiler/analysis/timeline/far_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>

#include "profiler/analysis/pass_kind.h"
#include "profiler/analysis/timeline/trace_segment.h"
#include "profiler/base/wrapping.h"

namespace pipescope::analysis {
namespace {

constexpr std::int64_t kStepsAtOnce = 100'000;  // some 20 MB

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
    double inside = 0;  ///< the time that they fill, in axis ticks
  };

  /// Sums over the steps of one segment, in ticks of its device.
  struct SegmentSums {
    TicksByKind byKind{};
    Ticks reached;  ///< the latest end of its steps so far
    std::int64_t steps = 0;
    bool sideBySide = false;
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
    use.inside += inside;
    if (end <= to) use.ended += 1;
  }

  model::LaneId laneOf(model::SegmentId segment) {
    if (lanes_.empty()) {
      for (const TraceSegment& row : trace_.segments) lanes_[row.id] = row.lane;
    }
    const auto found = lanes_.find(segment);
    return found == lanes_.end() ? model::LaneId() : found->second;
  }

  /// Each moment counts on the first lane that works in it. The sums of rows that were read one by one follow
  /// the same rule.
  void takeSideBySide() {
    for (auto& [index, lanes] : beside_) {
      std::vector<std::pair<Ticks, Ticks>> covered;
      for (auto& [lane, placements] : lanes) {
        std::sort(placements.begin(), placements.end(),
                  [](const Beside& a, const Beside& b) { return a.start < b.start; });
        std::size_t next = 0;
        for (const Beside& row : placements) {
          while (next < covered.size() && covered[next].second <= row.start) ++next;
          Ticks at = row.start, free;
          for (std::size_t i = next; i < covered.size() && covered[i].first < row.end; ++i) {
            free += std::max(Ticks(0), covered[i].first - at);
            at = std::max(at, covered[i].second);
          }
          free += std::max(Ticks(0), row.end - at);
          Use& use = placed_[row.segment][index];
          use.share += static_cast<double>(free.count) / row.length;
          use.inside += static_cast<double>(free.count);
          use.ended += row.ended ? 1 : 0;
        }
        for (const Beside& row : placements) covered.emplace_back(row.start, row.end);
        covered = joined(std::move(covered));
      }
    }
  }

  /// Sorts the spans and joins those that overlap or touch.
  static std::vector<std::pair<Ticks, Ticks>> joined(std::vector<std::pair<Ticks, Ticks>> spans) {
    std::sort(spans.begin(), spans.end());
    std::vector<std::pair<Ticks, Ticks>> result;
    for (const auto& span : spans) {
      if (!result.empty() && span.first <= result.back().second) {
        result.back().second = std::max(result.back().second, span.second);
      } else {
        result.push_back(span);
      }
    }
    return result;
  }

  /// Adds the steps of the placed segments, each as often as its segment was placed.
  base::Status readSteps() {
    if (placed_.empty()) return {};
    const auto [first, last] = std::minmax_element(
        placed_.begin(), placed_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    PIPESCOPE_TRY(forEachStep(first->first, last->first, [this](const model::Step& step) { addStep(step); }));
    PIPESCOPE_TRY(readSideBySide());
    for (const TraceSegment& segment : trace_.segments) {
      const auto found = placed_.find(segment.id);
      if (found == placed_.end()) continue;
      addSegment(segment, found->second);
    }
    return {};
  }

  /// Calls `add` for the steps of placed segments from `first` to `last`.
  template <class Add>
  base::Status forEachStep(model::SegmentId first, model::SegmentId last, const Add& add) {
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (progress_.cancelled()) return base::cancelled("Reading the steps was stopped.");
      if (blocks[i].rows == 0) continue;
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, source_.ranges<model::Step>(i));
      if (!ranges.empty() && !ranges.front().mayMeet(first.value, last.value)) continue;
      PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, source_.block<model::Step>(i));
      for (const model::Step& step : *rows) {
        if (step.ticks.count > 0 && placed_.contains(step.segment)) add(step);
      }
    }
    return {};
  }

  /// Steps that overlap can only be summed when all steps of their segment are in memory. This reads such
  /// segments again, as many at once as kStepsAtOnce allows.
  base::Status readSideBySide() {
    std::vector<const TraceSegment*> overlapping;
    for (const TraceSegment& segment : trace_.segments) {
      const auto found = segments_.find(segment.id);
      if (found != segments_.end() && found->second.sideBySide) overlapping.push_back(&segment);
    }
    std::ranges::sort(overlapping, {}, &TraceSegment::id);
    for (std::size_t begin = 0, end = 0; begin < overlapping.size(); begin = end) {
      std::int64_t steps = 0;
      do {
        steps += segments_.at(overlapping[end]->id).steps;
      } while (++end < overlapping.size() && steps < kStepsAtOnce);
      PIPESCOPE_TRY(readTogether(std::span(overlapping).subspan(begin, end - begin)));
    }
    return {};
  }

  base::Status readTogether(std::span<const TraceSegment* const> part) {
    std::unordered_map<model::SegmentId, TraceSegment> copies;
    for (const TraceSegment* segment : part) {
      TraceSegment& copy = copies[segment->id];
      copy.ticks = segment->ticks;
      copy.pass = segment->pass;
    }
    PIPESCOPE_TRY(forEachStep(part.front()->id, part.back()->id, [&](const model::Step& step) {
      if (const auto found = copies.find(step.segment); found != copies.end())
        found->second.steps.push_back(step);
    }));
    for (const auto& [id, segment] : copies)
      segments_[id].byKind = exclusiveTicks(segment, Ticks(0), segment.ticks);
    return {};
  }

  void addSegment(const TraceSegment& segment, const std::map<std::int32_t, Use>& uses) {
    const auto known = segments_.find(segment.id);
    for (const auto& [index, use] : uses) {
      Sums& sums = sums_[static_cast<std::size_t>(index)];
      const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(index)];
      if (known == segments_.end()) {  // a segment without steps counts as one step of its pass's kind
        sums.byKind[kindIndex(kindOfPass(segment.pass))] += use.inside;
        continue;
      }
      for (std::size_t kind = 0; kind < kStepKinds; ++kind)
        sums.byKind[kind] += axis(device, Ticks(known->second.byKind[kind])) * use.share;
    }
  }

  void addStep(const model::Step& step) {
    SegmentSums& segment = segments_[step.segment];
    base::addWrapped(segment.byKind[kindIndex(step.kind)], step.ticks.count);
    ++segment.steps;
    segment.sideBySide = segment.sideBySide || step.offset < segment.reached;
    segment.reached = std::max(segment.reached, step.offset + step.ticks);
    for (const auto& [device, use] : placed_.at(step.segment)) addStep(device, use, step);
  }

  void addStep(std::int32_t index, const Use& use, const model::Step& step) {
    Sums& sums = sums_[static_cast<std::size_t>(index)];
    const DeviceTrace& device = trace_.devices[static_cast<std::size_t>(index)];
    const bool stream = step.kind == model::StepKind::streamCopy;
    if (stream || step.kind == model::StepKind::globalExchange) {
      (stream ? sums.streamIn : sums.globalIn) +=
          Bytes(std::llround(static_cast<double>(step.bytesIn.count) * use.ended));
      (stream ? sums.streamOut : sums.globalOut) +=
          Bytes(std::llround(static_cast<double>(step.bytesOut.count) * use.ended));
    }
    if (step.kind != model::StepKind::compute) return;
    sums.unitTicks +=
        step.meanTicks * static_cast<double>(device.units) * device.axisTicksPerTick * use.share;
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
  std::unordered_map<model::SegmentId, SegmentSums> segments_;
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
