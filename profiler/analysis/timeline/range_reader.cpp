#include "profiler/analysis/timeline/range_reader.h"

#include <algorithm>
#include <set>

#include "profiler/analysis/kind_times.h"
#include "profiler/base/wrapping.h"
#include "profiler/model/pyramid.h"

namespace pipescope::analysis {
namespace {

// The sum or difference of two such times does not overflow.
constexpr Ticks kRangeReaderMostTicks(std::int64_t{1} << 61);
bool isPossible(Ticks start, Ticks end) {
  return start <= end && start >= Ticks(-kRangeReaderMostTicks.count) && end <= kRangeReaderMostTicks;
}

}  // namespace

void SpanJoiner::add(const StepSpan& span) {
  const auto id = static_cast<std::size_t>(span.lane.value);
  Lane& lane = lanes_[std::min(id, lanes_.size() - 1)];
  if (lane.any && span.start - lane.open.start >= resolution_) close(lane);
  if (!lane.any) {
    lane.open = span;
    lane.any = true;
  } else {
    if (lane.open.placement != span.placement) lane.open.placement = {};
    lane.open.program = {};
    lane.open.end = std::max(lane.open.end, span.end);
    lane.open.steps += span.steps;
  }
  std::int64_t& ticks =
      lane.ticks[std::min<std::size_t>(static_cast<std::size_t>(span.kind), lane.ticks.size() - 1)];
  base::addWrapped(ticks, (span.end - span.start).count);
}

void SpanJoiner::close(Lane& lane) {
  if (!lane.any) return;
  const auto most = std::max_element(lane.ticks.begin(), lane.ticks.end()) - lane.ticks.begin();
  if (lane.ticks[static_cast<std::size_t>(most)] > 0) lane.open.kind = static_cast<model::StepKind>(most);
  lane.spans.push_back(lane.open);
  lane.any = false;
  lane.ticks.fill(0);
}

std::vector<StepSpan> SpanJoiner::finish() {
  const auto byStart = [](const StepSpan& a, const StepSpan& b) { return a.start < b.start; };
  std::size_t count = 0;
  for (Lane& lane : lanes_) {
    close(lane);
    count += lane.spans.size();
  }
  std::vector<StepSpan> all;
  all.reserve(count);
  for (Lane& lane : lanes_) {
    if (!std::is_sorted(lane.spans.begin(), lane.spans.end(), byStart))
      std::stable_sort(lane.spans.begin(), lane.spans.end(), byStart);
    all.insert(all.end(), lane.spans.begin(), lane.spans.end());
  }
  return all;
}

RangeReader::RangeReader(const RangeIndex& index, const RangeRequest& range, base::Progress& progress)
    : index_(index), range_(range), progress_(progress), steps_(index.steps_, *index.source_, progress) {
  range_.from = std::clamp(range_.from, Ticks(-kRangeReaderMostTicks.count), kRangeReaderMostTicks);
  range_.to = std::clamp(range_.to, Ticks(-kRangeReaderMostTicks.count), kRangeReaderMostTicks);
  if (range_.lanes.empty()) return;
  lanes_.assign(index.catalog_->lanes.size(), false);
  for (const model::LaneId lane : range_.lanes) {
    if (lanes_.contains(lane)) lanes_[lane] = true;
  }
}

bool RangeReader::wants(model::LaneId lane) const {
  return lanes_.empty() || (lanes_.contains(lane) && lanes_[lane]);
}

Result<std::vector<model::Placement>> RangeReader::placements() {
  std::vector<model::Placement> found;
  std::set<model::DeviceId> devices;
  for (const model::LaneId lane : range_.lanes) {
    if (index_.catalog_->lanes.contains(lane)) devices.insert(index_.catalog_->lanes[lane].device);
  }
  for (std::size_t b = 0; b < index_.placements_.size(); ++b) {
    const model::BlockInfo& block = index_.placements_[b];
    if (block.rows == 0 || (block.hasTime && (block.start >= range_.to || block.end <= range_.from)))
      continue;
    PIPESCOPE_TRY(stopped(progress_));
    PIPESCOPE_ASSIGN(const model::Rows<model::Placement> rows, index_.source_->block<model::Placement>(b));
    for (const model::Placement& row : *rows) {
      if (row.start >= range_.to || row.end <= range_.from || !isPossible(row.start, row.end)) continue;
      if (!devices.empty() && devices.count(row.device) == 0) continue;
      const model::Segment* segment = index_.catalog_->segments.find(row.segment);
      if (segment != nullptr && segment->executable == range_.executable) found.push_back(row);
    }
  }
  return found;
}

/// Estimates how many placements fall in the range.
double RangeReader::expectedPlacements() const {
  double sum = 0;
  for (const model::BlockInfo& block : index_.placements_) {
    const Ticks from = std::max(block.start, range_.from), to = std::min(block.end, range_.to);
    if (!block.hasTime || to <= from || block.end <= block.start) continue;
    sum += static_cast<double>(block.rows) * static_cast<double>((to - from).count) /
           (static_cast<double>(block.end.count) - static_cast<double>(block.start.count));
  }
  return sum;
}

base::Status RangeReader::spans(Ticks resolution, std::vector<StepSpan>& answer) {
  if (resolution.count <= 0 && range_.from < range_.to) return everySpan(answer);
  answer.clear();
  if (range_.to <= range_.from) return {};
  const double pixels = static_cast<double>((range_.to - range_.from).count) /
                        static_cast<double>(std::max<std::int64_t>(1, resolution.count));
  const double most = pixels * static_cast<double>(std::max<std::size_t>(1, index_.catalog_->devices.size()));
  SpanJoiner joiner(index_.catalog_->lanes.size(), resolution);
  std::int32_t level = 0;
  for (double rows = expectedPlacements(); rows > most; rows /= 8) ++level;
  if (level > 0 && !index_.nodes_.empty()) {
    PIPESCOPE_TRY(spansOfNodes(level, joiner));
  } else {
    PIPESCOPE_ASSIGN(std::vector<model::Placement> found, placements());
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    for (const model::Placement& placement : found)
      PIPESCOPE_TRY(spansOfPlacement(placement, resolution, joiner));
  }
  answer = joiner.finish();
  return {};
}

/// Collects every step without joining. It counts the spans of each lane first and then writes each span to
/// its final place, so it needs no memory besides the answer.
base::Status RangeReader::everySpan(std::vector<StepSpan>& all) {
  PIPESCOPE_ASSIGN(std::vector<model::Placement> found, placements());
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  expectSteps(found);
  // The index of each lane's first span. All unknown lanes share one lane; the last entry is the total.
  std::vector<std::size_t> places(index_.catalog_->lanes.size() + 2);
  const auto laneOf = [none = places.size() - 2](model::LaneId lane) {
    return std::min(static_cast<std::size_t>(lane.value), none);
  };
  PIPESCOPE_TRY(forEachSpan(
      found, [count = places.data() + 1, laneOf](const StepSpan& span) { ++count[laneOf(span.lane)]; }));
  for (std::size_t lane = 1; lane < places.size(); ++lane) places[lane] += places[lane - 1];
  if (all.capacity() < places.back()) all.clear(), all.reserve(places.back() + places.back() / 4);
  all.resize(places.back());
  std::vector<std::size_t> next(places.begin(), places.end() - 1);
  PIPESCOPE_TRY(forEachSpan(found, [into = all.data(), place = next.data(), laneOf](const StepSpan& span) {
    into[place[laneOf(span.lane)]++] = span;
  }));
  const auto byStart = [](const StepSpan& a, const StepSpan& b) { return a.start < b.start; };
  for (std::size_t lane = 0; lane + 1 < places.size(); ++lane) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(places[lane]),
               end = all.begin() + static_cast<std::ptrdiff_t>(places[lane + 1]);
    if (!std::is_sorted(begin, end, byStart)) std::stable_sort(begin, end, byStart);
  }
  return {};
}

/// Most questions need a few blocks and would read them one after the other the first time. This asks for all
/// of them at once.
void RangeReader::expectSteps(const std::vector<model::Placement>& found) {
  constexpr std::size_t kMostBlocks = 16, kMostPlacements = 64;
  std::vector<std::size_t> blocks;
  for (std::size_t i = 0; i < std::min(found.size(), kMostPlacements); ++i) {
    for (const std::size_t block :
         index_.steps_.of(found[i].segment, range_.from - found[i].start, range_.to - found[i].start)) {
      if (blocks.size() < kMostBlocks && std::ranges::find(blocks, block) == blocks.end())
        blocks.push_back(block);
    }
  }
  index_.source_->expect<model::Step>(blocks);
}

template <class Visit>
base::Status RangeReader::forEachSpan(const std::vector<model::Placement>& found, Visit&& visit) {
  for (const model::Placement& placement : found) {
    const model::Segment& segment = index_.catalog_->segments[placement.segment];
    bool any = false;
    PIPESCOPE_TRY(steps_.forEach(
        placement.segment, range_.from - placement.start, range_.to - placement.start,
        [&](const StepFacts& step) {
          any = true;
          if (!lanes_.empty() && !wants(step.lane)) return;
          const Ticks start = placement.start + step.offset;
          visit(StepSpan{step.lane, start, start + step.ticks, step.kind, step.program, placement.id, 1});
        }));
    if (!any && wants(segment.lane))
      visit(StepSpan{
          segment.lane, placement.start, placement.end, kindOfPass(placement.pass), {}, placement.id, 0});
  }
  return {};
}

/// Calls visit(NodeFacts) for nodes of `content` in the blocks that `mayHold(info, ranges)` accepts.
template <class MayHold, class Visit>
base::Status RangeReader::forEachNode(model::LevelContent content, MayHold&& mayHold, Visit&& visit) {
  const std::size_t contents = columnOf<model::LevelNode>("content"),
                    levels = columnOf<model::LevelNode>("level"), lanes = columnOf<model::LevelNode>("lane"),
                    owners = columnOf<model::LevelNode>("owner"),
                    starts = columnOf<model::LevelNode>("start"), ends = columnOf<model::LevelNode>("end"),
                    counts = columnOf<model::LevelNode>("count"),
                    kinds = columnOf<model::LevelNode>("dominant");
  const auto wanted = static_cast<std::int64_t>(content);
  return forEachColumnBlock<model::LevelNode>(
      *index_.source_, progress_,
      [&](const model::BlockInfo& block, const auto& ranges) {
        return ranges[contents].mayHold(wanted) && mayHold(block, ranges[levels], ranges[owners]);
      },
      [&](const model::ColumnBlock& block) {
        const auto& c = block.columns;
        for (std::size_t i = 0; i < block.rows; ++i) {
          const NodeFacts node{static_cast<std::int32_t>(c[levels][i]),
                               static_cast<std::int32_t>(c[kinds][i]),
                               model::LaneId(c[lanes][i]),
                               c[owners][i],
                               Ticks(c[starts][i]),
                               Ticks(c[ends][i]),
                               c[counts][i]};
          if (c[contents][i] == wanted && isPossible(node.start, node.end)) visit(node);
        }
      });
}

/// Adds the nodes of a level. A lane without nodes of that level gives the nodes of its highest level. The
/// last rows of a growing file belong to no node yet.
base::Status RangeReader::spansOfNodes(std::int32_t level, SpanJoiner& joiner) {
  struct LaneNodes {
    std::int32_t level = 0;
    std::vector<NodeFacts> nodes;
  };
  // One entry for each lane; the last entry is for unknown lanes.
  std::vector<LaneNodes> found(index_.catalog_->lanes.size() + 1);
  PIPESCOPE_TRY(forEachNode(
      model::LevelContent::placements,
      [&](const model::BlockInfo& block, const model::ColumnRange& levels, const model::ColumnRange&) {
        // Each block of a file holds one content and one level. Other sources do not give these ranges.
        return levels.mayMeet(level - 1, level) && mayMeet(block, range_.from, range_.to);
      },
      [&](const NodeFacts& node) {
        const auto place = std::min(static_cast<std::size_t>(node.lane.value), found.size() - 1);
        if (node.level > level || node.end <= range_.from || node.start >= range_.to || !wants(node.lane))
          return;
        LaneNodes& lane = found[place];
        if (node.level < lane.level) return;
        if (node.level > lane.level) lane.nodes.clear(), lane.level = node.level;
        lane.nodes.push_back(node);
      }));
  for (LaneNodes& lane : found) {
    const auto byStart = [](const auto& a, const auto& b) { return a.start < b.start; };
    if (!std::is_sorted(lane.nodes.begin(), lane.nodes.end(), byStart))
      std::stable_sort(lane.nodes.begin(), lane.nodes.end(), byStart);
    for (const NodeFacts& node : lane.nodes)
      joiner.add(
          {node.lane, node.start, node.end, kindOfPass(static_cast<model::Pass>(node.kind)), {}, {}, 0});
  }
  return {};
}

base::Status RangeReader::spansOfPlacement(const model::Placement& placement, Ticks resolution,
                                           SpanJoiner& joiner) {
  const model::Segment& segment = index_.catalog_->segments[placement.segment];
  const Ticks from = range_.from - placement.start, to = range_.to - placement.start;
  bool any = false;
  if (placement.end - placement.start >= resolution) {
    PIPESCOPE_ASSIGN(const std::vector<StepSpan>* all, joined(placement.segment, resolution));
    any = !all->empty();
    for (StepSpan span : *all) {
      if (span.start >= to || span.end <= from || !wants(span.lane)) continue;
      span.start += placement.start, span.end += placement.start;
      span.placement = placement.id;
      joiner.add(span);
    }
  }
  if (!any && wants(segment.lane))
    joiner.add(
        {segment.lane, placement.start, placement.end, kindOfPass(placement.pass), {}, placement.id, 0});
  return {};
}

Result<const std::vector<StepSpan>*> RangeReader::joined(model::SegmentId segment, Ticks resolution) {
  const auto [place, added] = joined_.try_emplace(segment.value);
  if (!added) return &place->second;
  const Ticks length = std::min(kRangeReaderMostTicks, index_.catalog_->segments[segment].ticks);
  const double pixels = 1 + static_cast<double>(length.count) / static_cast<double>(resolution.count);
  const std::vector<std::size_t> blocks = index_.steps_.of(segment, Ticks(0), kRangeReaderMostTicks);
  double rows = 0, own = 0;  // rows of all blocks; rows of inner blocks, which hold only this segment
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto count = static_cast<double>(index_.steps_.rowsIn(blocks[i]));
    rows += count;
    if (i > 0 && i + 1 < blocks.size()) own += count;
  }
  // A segment with that many steps has nodes for all of its lanes.
  const bool isLong = own >= static_cast<double>(model::kStepsOfLongSegment);
  constexpr double kStepsPerPixel = 512, kNodesPerPixel = 8;
  std::int32_t level = 0;
  if (isLong && rows > kStepsPerPixel * pixels) {
    level = 1;
    for (rows /= 64; rows > kNodesPerPixel * pixels; rows /= 8) ++level;
  }
  for (; level >= 0 && place->second.empty(); --level) {
    SpanJoiner joiner(index_.catalog_->lanes.size(), resolution);
    if (level > 0) {
      PIPESCOPE_TRY(joinNodes(segment, level, joiner));
    } else {
      PIPESCOPE_TRY(steps_.forEach(segment, Ticks(-1), kRangeReaderMostTicks, [&](const StepFacts& step) {
        joiner.add({step.lane, step.offset, step.offset + step.ticks, step.kind, step.program, {}, 1});
      }));
    }
    place->second = joiner.finish();
  }
  return &place->second;
}

base::Status RangeReader::joinNodes(model::SegmentId segment, std::int32_t level, SpanJoiner& joiner) {
  return forEachNode(
      model::LevelContent::steps,
      [&](const model::BlockInfo&, const model::ColumnRange& levels, const model::ColumnRange& owners) {
        return levels.mayHold(level) && owners.mayHold(segment.value);
      },
      [&](const NodeFacts& node) {
        if (node.level == level && node.owner == segment.value)
          joiner.add(
              {node.lane, node.start, node.end, static_cast<model::StepKind>(node.kind), {}, {}, node.count});
      });
}

}  // namespace pipescope::analysis
