#include "profiler/model/pyramid.h"

#include <algorithm>
#include <span>

#include "profiler/base/prefetch.h"

namespace pipescope::model {
namespace {

std::size_t kindPlace(std::int32_t kind) {
  return kind >= 0 && kind < 15 ? static_cast<std::size_t>(kind) : 15;
}

/// False for times that no view can draw. Such rows are in no node.
bool isPossible(Ticks start, Ticks length) {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  return start.count >= 0 && start.count <= kMost && length.count >= 0 && length.count <= kMost;
}

/// Adds with wrap-around, because damaged files may contain lengths whose sum would overflow.
Ticks sum(Ticks a, Ticks b) {
  return Ticks(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(a.count) + static_cast<std::uint64_t>(b.count)));
}

}  // namespace

void PyramidBuilder::add(const RowSet& rows, std::vector<LevelNode>& nodes) {
  for (const Lane& row : rows.of<Lane>()) deviceOfLane_[row.id.value] = row.device.value;
  for (const Segment& row : rows.of<Segment>()) laneOfSegment_[row.id.value] = row.lane.value;
  const std::span<const Step> steps = rows.of<Step>();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    base::prefetch(steps, i);
    const Step& row = steps[i];
    if (row.segment != segment_) closeSegment(nodes);
    segment_ = row.segment;
    StepLane& lane = stepLaneOf(row.lane.value);
    ++lane.steps;
    const Item item{row.offset, row.ticks, static_cast<std::int32_t>(row.kind)};
    if (count(lane.levels, item, kStepsPerNode))
      close({LevelContent::steps, row.segment.value, row.lane.value}, lane.levels, 0, lane.nodes);
  }
  for (const Placement& row : rows.of<Placement>()) {
    addRow({LevelContent::placements, row.device.value, laneOf(row.segment)}, row.start, row.end,
           static_cast<std::int32_t>(row.pass), nodes);
  }
  for (const Wait& row : rows.of<Wait>()) {
    addRow({LevelContent::waits, row.device.value, -1}, row.start, row.end,
           static_cast<std::int32_t>(row.cause), nodes);
  }
  for (const Transfer& row : rows.of<Transfer>()) {
    addRow({LevelContent::transfers, deviceOf(row.fromLane), row.fromLane.value}, row.start, row.end,
           static_cast<std::int32_t>(row.kind), nodes);
  }
}

inline PyramidBuilder::StepLane& PyramidBuilder::stepLaneOf(std::int64_t lane) {
  const auto number = static_cast<std::size_t>(lane);
  if (number < stepLanePlaces_.size() && stepLanePlaces_[number] > 0)
    return stepLanes_[stepLanePlaces_[number] - 1];
  return addStepLane(lane);
}

PyramidBuilder::StepLane& PyramidBuilder::addStepLane(std::int64_t lane) {
  constexpr std::size_t kSmall = 1 << 16;
  const auto number = static_cast<std::size_t>(lane);
  if (number < kSmall) {
    if (number >= stepLanePlaces_.size()) stepLanePlaces_.resize(number + 1);
    stepLanePlaces_[number] = stepLanes_.size() + 1;
  } else {
    const auto [place, added] = otherStepLanes_.try_emplace(lane, stepLanes_.size());
    if (!added) return stepLanes_[place->second];
  }
  stepLanes_.emplace_back().lane = lane;
  return stepLanes_.back();
}

void PyramidBuilder::flush(std::vector<LevelNode>& nodes) {
  closeSegment(nodes);
  for (auto& [key, levels] : open_) flushLevels(key, levels, nodes);
  open_.clear();
}

void PyramidBuilder::addRow(const Key& key, Ticks start, Ticks end, std::int32_t kind,
                            std::vector<LevelNode>& nodes) {
  if (end < start || start.count < 0) return;
  Levels& levels = open_[key];
  if (count(levels, {start, end - start, kind}, kRowsPerNode)) close(key, levels, 0, nodes);
}

/// Adds a row to the open node of level 1. Returns true if the node is then full.
inline bool PyramidBuilder::count(Levels& levels, const Item& item, std::int64_t perNode) {
  if (!isPossible(item.start, item.length)) return false;
  if (levels.empty()) levels.emplace_back();
  Open& open = levels.front();
  const Ticks end = item.start + item.length;
  if (open.members == 0) open.node.start = item.start, open.node.end = end;
  open.node.start = std::min(open.node.start, item.start);
  open.node.end = std::max(open.node.end, end);
  open.node.busy = sum(open.node.busy, item.length);
  ++open.node.count;
  std::int64_t& ticks = open.ticksOf[kindPlace(item.kind)];
  ticks = sum(Ticks(ticks), item.length).count;
  return ++open.members == perNode;
}

/// Writes the open node of a level and adds it to the open node of the next level.
void PyramidBuilder::close(const Key& key, Levels& levels, std::size_t level, std::vector<LevelNode>& nodes) {
  if (levels.size() == level + 1) levels.emplace_back();
  Open& closed = levels[level];
  LevelNode& node = closed.node;
  node.content = key.content;
  node.level = static_cast<std::int32_t>(level) + 1;
  node.lane = LaneId(key.lane);
  node.owner = key.owner;
  const auto most = std::max_element(closed.ticksOf.begin(), closed.ticksOf.end());
  node.dominant = static_cast<std::int32_t>(most - closed.ticksOf.begin());
  node.dominantTicks = Ticks(*most);
  Open& above = levels[level + 1];
  if (above.members == 0) above.node.start = node.start, above.node.end = node.end;
  above.node.start = std::min(above.node.start, node.start);
  above.node.end = std::max(above.node.end, node.end);
  above.node.busy = sum(above.node.busy, node.busy);
  above.node.count += node.count;
  for (std::size_t kind = 0; kind < closed.ticksOf.size(); ++kind)
    above.ticksOf[kind] = sum(Ticks(above.ticksOf[kind]), Ticks(closed.ticksOf[kind])).count;
  nodes.push_back(node);
  levels[level] = {};
  if (++above.members == kNodesPerNode) close(key, levels, level + 1, nodes);
}

void PyramidBuilder::flushLevels(const Key& key, Levels& levels, std::vector<LevelNode>& nodes) {
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const bool top = level + 1 == levels.size();
    if (top && level > 0 && levels[level].members == 1) break;  // it would equal its only member
    if (levels[level].members > 0) close(key, levels, level, nodes);
  }
}

void PyramidBuilder::closeSegment(std::vector<LevelNode>& nodes) {
  std::sort(stepLanes_.begin(), stepLanes_.end(),
            [](const auto& a, const auto& b) { return a.lane < b.lane; });
  std::int64_t all = 0;
  for (const StepLane& steps : stepLanes_) all += steps.steps;
  const bool isLong = all >= kStepsOfLongSegment;
  std::int32_t highest = 0;
  for (StepLane& steps : stepLanes_) {
    if (steps.steps < kLeastStepsWithNodes && !isLong) continue;
    flushLevels({LevelContent::steps, segment_.value, steps.lane}, steps.levels, steps.nodes);
    if (!steps.nodes.empty()) highest = std::max(highest, steps.nodes.back().level);
  }
  for (StepLane& steps : stepLanes_) {
    // The highest level of a lane is one node. It is repeated on the levels above, so that every level
    // contains all lanes.
    while (isLong && !steps.nodes.empty() && steps.nodes.back().level < highest) {
      LevelNode above = steps.nodes.back();
      ++above.level;
      steps.nodes.push_back(above);
    }
    if (steps.steps >= kLeastStepsWithNodes || isLong)
      nodes.insert(nodes.end(), steps.nodes.begin(), steps.nodes.end());
  }
  for (const StepLane& steps : stepLanes_) {
    if (const auto number = static_cast<std::size_t>(steps.lane); number < stepLanePlaces_.size())
      stepLanePlaces_[number] = 0;
  }
  stepLanes_.clear();
  otherStepLanes_.clear();
}

std::int64_t PyramidBuilder::laneOf(SegmentId segment) const {
  const auto found = laneOfSegment_.find(segment.value);
  return found == laneOfSegment_.end() ? -1 : found->second;
}

std::int64_t PyramidBuilder::deviceOf(LaneId lane) const {
  const auto found = deviceOfLane_.find(lane.value);
  return found == deviceOfLane_.end() ? -1 : found->second;
}

}  // namespace pipescope::model
