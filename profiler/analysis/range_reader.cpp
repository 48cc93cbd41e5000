#include "profiler/analysis/range_reader.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace pipescope::analysis {
namespace {


base::Status stopped(base::Progress& progress) {
  if (progress.cancelled()) return base::cancelled("The question was stopped.");
  return {};
}

model::StepKind kindOf(model::Pass pass) {
  switch (pass) {
    case model::Pass::hostIn:
    case model::Pass::hostOut:
      return model::StepKind::streamCopy;
    case model::Pass::sync:
      return model::StepKind::sync;
    case model::Pass::collective:
      return model::StepKind::globalExchange;
    case model::Pass::remote:
      return model::StepKind::remoteCopy;
    default:
      return model::StepKind::compute;
  }
}

}  // namespace

RangeReader::RangeReader(const RangeIndex& index, const RangeRequest& range, base::Progress& progress)
    : index_(index), range_(range), progress_(progress), lanes_(range.lanes.begin(), range.lanes.end()) {}

Result<std::vector<model::Placement>> RangeReader::placements() {
  std::vector<model::Placement> found;
  std::set<model::DeviceId> devices;
  for (const model::LaneId lane : range_.lanes) {
    const auto place = static_cast<std::size_t>(lane.value);
    if (lane.valid() && place < index_.catalog_->lanes.size()) devices.insert(index_.catalog_->lanes[place].device);
  }
  for (std::size_t b = 0; b < index_.placements_.size(); ++b) {
    const model::BlockInfo& block = index_.placements_[b];
    if (block.rows == 0 || (block.hasTime && (block.start >= range_.to || block.end <= range_.from))) continue;
    PIPESCOPE_TRY(stopped(progress_));
    PIPESCOPE_ASSIGN(const model::Rows<model::Placement> rows, index_.source_->block<model::Placement>(b));
    for (const model::Placement& row : *rows) {
      if (row.start >= range_.to || row.end <= range_.from || row.end < row.start) continue;
      if (!devices.empty() && devices.count(row.device) == 0) continue;
      const auto segment = static_cast<std::size_t>(row.segment.value);
      if (!row.segment.valid() || segment >= index_.catalog_->segments.size()) continue;
      if (index_.catalog_->segments[segment].executable == range_.executable) found.push_back(row);
    }
  }
  return found;
}

/// Rows of the blocks that meet the range, as far as they do.
double RangeReader::expectedPlacements() const {
  double sum = 0;
  for (const model::BlockInfo& block : index_.placements_) {
    const Ticks from = std::max(block.start, range_.from), to = std::min(block.end, range_.to);
    if (!block.hasTime || to <= from || block.end <= block.start) continue;
    sum += static_cast<double>(block.rows) * static_cast<double>((to - from).count) /
           static_cast<double>((block.end - block.start).count);
  }
  return sum;
}

Result<std::vector<StepSpan>> RangeReader::spans(Ticks resolution) {
  if (range_.to <= range_.from) return std::vector<StepSpan>();
  const double pixels = resolution.count <= 0
                            ? std::numeric_limits<double>::infinity()
                            : static_cast<double>((range_.to - range_.from).count) / static_cast<double>(resolution.count);
  const double most = pixels * static_cast<double>(std::max<std::size_t>(1, index_.catalog_->devices.size()));
  std::int32_t level = 0;
  for (double rows = expectedPlacements(); rows > most; rows /= 8) ++level;
  if (level > 0 && !index_.nodes_.empty()) {
    PIPESCOPE_TRY(spansOfNodes(level, resolution));
  } else {
    PIPESCOPE_ASSIGN(std::vector<model::Placement> found, placements());
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    for (const model::Placement& placement : found) PIPESCOPE_TRY(spansOfPlacement(placement, resolution));
  }
  for (auto& [lane, pending] : pending_) flush(pending);
  std::sort(result_.begin(), result_.end(), [](const StepSpan& a, const StepSpan& b) {
    return std::tie(a.lane, a.start) < std::tie(b.lane, b.start);
  });
  return std::move(result_);
}

/// Nodes of a level; lanes that have none so high are taken from the highest they have. The last rows of a growing
/// file are in no node yet.
base::Status RangeReader::spansOfNodes(std::int32_t level, Ticks resolution) {
  struct LaneNodes {
    std::int32_t level = 0;
    std::vector<model::LevelNode> nodes;
  };
  std::unordered_map<std::int64_t, LaneNodes> found;  // by owner and lane
  for (std::size_t b = 0; b < index_.nodes_.size(); ++b) {
    const model::BlockInfo& block = index_.nodes_[b];
    if (block.rows == 0) continue;
    PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges, index_.source_->ranges<model::LevelNode>(b));
    const bool placements = ranges[0].mayHold(static_cast<std::int64_t>(model::LevelContent::placements));
    // Blocks of a file hold one content and level; other sources do not say.
    const bool coarse = !ranges[1].known || ranges[1].smallest <= level;
    if (!placements || !coarse || (ranges[1].known && ranges[1].largest + 1 < level) ||
        (block.hasTime && (block.start >= range_.to || block.end <= range_.from)))
      continue;
    PIPESCOPE_TRY(stopped(progress_));
    PIPESCOPE_ASSIGN(const model::Rows<model::LevelNode> rows, index_.source_->block<model::LevelNode>(b));
    for (const model::LevelNode& node : *rows) {
      if (node.content != model::LevelContent::placements || node.level > level || node.end <= range_.from ||
          node.start >= range_.to || node.end < node.start || !wants(node.lane))
        continue;
      LaneNodes& lane = found[node.owner * std::int64_t{1 << 20} + node.lane.value];
      if (node.level < lane.level) continue;
      if (node.level > lane.level) lane.nodes.clear(), lane.level = node.level;
      lane.nodes.push_back(node);
    }
  }
  for (auto& [key, lane] : found) {
    const auto byStart = [](const auto& a, const auto& b) { return a.start < b.start; };
    if (!std::is_sorted(lane.nodes.begin(), lane.nodes.end(), byStart))
      std::stable_sort(lane.nodes.begin(), lane.nodes.end(), byStart);
    for (const model::LevelNode& node : lane.nodes)
      add({node.lane, node.start, node.end, kindOf(static_cast<model::Pass>(node.dominant)), {}, {}, 0}, resolution);
  }
  return {};
}

base::Status RangeReader::spansOfPlacement(const model::Placement& placement, Ticks resolution) {
  const model::Segment& segment = index_.catalog_->segments[static_cast<std::size_t>(placement.segment.value)];
  if (placement.end - placement.start < resolution) {
    if (wants(segment.lane))
      add({segment.lane, placement.start, placement.end, kindOf(placement.pass), {}, placement.id, 0}, resolution);
    return {};
  }
  const Ticks from = range_.from - placement.start, to = range_.to - placement.start;
  bool any = false;
  PIPESCOPE_TRY(forEachStep(placement.segment, from, to, [&](const model::Step& step) {
    any = true;
    if (!wants(step.lane)) return;
    const Ticks start = placement.start + step.offset;
    add({step.lane, start, start + step.ticks, step.kind, step.program, placement.id, 1}, resolution);
  }));
  if (!any && wants(segment.lane))
    add({segment.lane, placement.start, placement.end, kindOf(placement.pass), {}, placement.id, 0}, resolution);
  return {};
}

template <class Visit>
base::Status RangeReader::forEachStep(model::SegmentId segment, Ticks from, Ticks to, Visit&& visit) {
  for (std::size_t b = 0; b < index_.steps_.size(); ++b) {
    const RangeIndex::StepBlock& block = index_.steps_[b];
    if (segment.value < block.firstSegment || segment.value > block.lastSegment) continue;
    // A block of several segments says nothing about this one's offsets.
    const bool alone = block.firstSegment == block.lastSegment;
    if (alone && (block.firstOffset >= to.count || block.lastOffset < from.count - index_.longestStep_)) continue;
    PIPESCOPE_TRY(stopped(progress_));
    PIPESCOPE_ASSIGN(const model::Rows<model::Step> rows, index_.source_->block<model::Step>(b));
    for (const StepRun& run : runsOf(b, *rows)) {
      if (run.segment != segment) continue;
      for (std::size_t i = run.first; i < run.end; ++i) {
        const model::Step& step = (*rows)[i];
        if (step.offset >= to || step.offset + step.ticks <= from) continue;
        if (step.offset.count >= 0 && step.ticks.count >= 0) visit(step);
      }
    }
  }
  return {};
}

/// Where the segments of a block are: found once a question, so that many placements share it.
const std::vector<RangeReader::StepRun>& RangeReader::runsOf(std::size_t block, const std::vector<model::Step>& rows) {
  const auto [place, added] = runs_.try_emplace(block);
  std::vector<StepRun>& runs = place->second;
  for (std::size_t i = 0; added && i < rows.size(); ++i) {
    if (runs.empty() || runs.back().segment != rows[i].segment) runs.push_back({rows[i].segment, i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

void RangeReader::add(StepSpan span, Ticks resolution) {
  if (resolution.count <= 0) {
    result_.push_back(span);
    return;
  }
  Pending& open = pending_[span.lane.value];
  if (open.any && (span.start - open.span.start >= resolution)) flush(open);
  if (!open.any) {
    open.span = span;
    open.any = true;
  } else {
    if (open.span.placement != span.placement) open.span.placement = {};
    open.span.program = {};
    open.span.end = std::max(open.span.end, span.end);
    open.span.steps += span.steps;
  }
  open.ticks[span.kind] += (span.end - span.start).count;
}

void RangeReader::flush(Pending& open) {
  if (!open.any) return;
  const auto most = std::max_element(open.ticks.begin(), open.ticks.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  open.span.kind = most->first;
  result_.push_back(open.span);
  open = {};
}

Result<std::vector<StepSums>> RangeReader::sums(SumBy by) {
  PIPESCOPE_ASSIGN(const std::vector<model::Placement> found, placements());
  std::map<model::SegmentId, std::int64_t> whole;
  std::map<std::string, StepSums> sums;
  std::unordered_map<std::int64_t, std::string> names;
  const auto keyOf = [&](const model::Step& step) -> std::string {
    if (by == SumBy::category) return model::toString(step.kind);
    if (by == SumBy::stage)
      return std::to_string(index_.catalog_->segments[static_cast<std::size_t>(step.segment.value)].stage);
    const auto [place, added] = names.try_emplace(step.program.value);
    const auto program = static_cast<std::size_t>(step.program.value);
    if (added && step.program.valid() && program < index_.catalog_->programs.size())
      place->second = index_.catalog_->namePath(index_.catalog_->programs[program].debugContext);
    return place->second;
  };
  const auto count = [&](const model::Step& step, Ticks ticks, std::int64_t times) {
    if (!wants(step.lane)) return;
    StepSums& sum = sums[keyOf(step)];
    sum.min = sum.count == 0 ? ticks : std::min(sum.min, ticks);
    sum.max = std::max(sum.max, ticks);
    sum.count += times;
    sum.sum += ticks * times;
  };
  for (const model::Placement& placement : found) {
    if (placement.start >= range_.from && placement.end <= range_.to) {
      ++whole[placement.segment];
      continue;
    }
    const Ticks from = range_.from - placement.start, to = range_.to - placement.start;
    PIPESCOPE_TRY(forEachStep(placement.segment, from, to, [&](const model::Step& step) {
      count(step, std::min(step.offset + step.ticks, to) - std::max(step.offset, from), 1);
    }));
  }
  constexpr Ticks kEnd(std::int64_t{1} << 62);
  for (const auto& [segment, times] : whole) {
    PIPESCOPE_TRY(forEachStep(segment, Ticks(-1), kEnd, [&](const model::Step& step) { count(step, step.ticks, times); }));
  }
  std::vector<StepSums> rows;
  for (auto& [key, sum] : sums) {
    sum.key = key;
    rows.push_back(sum);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.sum > b.sum; });
  return rows;
}

}  // namespace pipescope::analysis
