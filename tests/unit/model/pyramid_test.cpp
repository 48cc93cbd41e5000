#include "profiler/model/pyramid.h"

#include <gtest/gtest.h>

#include <map>

namespace pipescope::model {
namespace {

/// The nodes of placements of 7 ticks every 10 ticks on two devices, added `piece` at a time.
std::vector<LevelNode> nodesOf(int placements, int piece, bool flush = true) {
  PyramidBuilder builder;
  std::vector<LevelNode> nodes;
  RowSet rows;
  rows.of<Segment>() = {{SegmentId(0), {}, DeviceId(0), LaneId(4)},
                        {SegmentId(1), {}, DeviceId(1), LaneId(5)}};
  for (int i = 0; i < placements; ++i) {
    for (int device = 0; device < 2; ++device) {
      Placement row;
      row.segment = SegmentId(device);
      row.device = DeviceId(device);
      row.start = Ticks(10 * i);
      row.end = Ticks(10 * i + 7);
      row.pass = i % 3 == 0 ? Pass::forward : Pass::backward;
      rows.of<Placement>().push_back(row);
    }
    if (i % piece == piece - 1) builder.add(rows, nodes), rows.clear();
  }
  builder.add(rows, nodes);
  if (flush) builder.flush(nodes);
  return nodes;
}

TEST(Pyramid, EveryLevelHoldsEveryRowOnce) {
  for (const int count : {1, 7, 8, 9, 63, 64, 65, 500, 512, 513, 4096}) {
    SCOPED_TRACE(count);
    std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t> rows, busy;
    std::int32_t top = 0;
    for (const LevelNode& node : nodesOf(count, 1 << 20)) {
      ASSERT_EQ(node.content, LevelContent::placements);
      EXPECT_EQ(node.lane.value, node.owner + 4);
      EXPECT_LE(node.busy, node.end - node.start);
      rows[{node.owner, node.level}] += node.count;
      busy[{node.owner, node.level}] += node.busy.count;
      top = std::max(top, node.level);
    }
    for (std::int32_t level = 1; level <= top; ++level) {
      for (const std::int64_t device : {0, 1}) {
        EXPECT_EQ((rows[{device, level}]), count) << level;
        EXPECT_EQ((busy[{device, level}]), 7 * count) << level;
      }
    }
    // The highest level is one node, and no level repeats the one below.
    std::int32_t expected = 1;
    for (int nodes = (count + 7) / 8; nodes > 1; nodes = (nodes + 7) / 8) ++expected;
    EXPECT_EQ(top, expected);
  }
}

TEST(Pyramid, DoesNotDependOnHowRowsCome) {
  const auto inOne = nodesOf(300, 1 << 20), inPieces = nodesOf(300, 7);
  ASSERT_EQ(inOne.size(), inPieces.size());
  for (std::size_t i = 0; i < inOne.size(); ++i) {
    EXPECT_EQ(inOne[i].start, inPieces[i].start);
    EXPECT_EQ(inOne[i].count, inPieces[i].count);
    EXPECT_EQ(inOne[i].level, inPieces[i].level);
  }
}

TEST(Pyramid, NodesSayWhatTakesMostTime) {
  const auto nodes = nodesOf(8, 100, false);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].start, Ticks(0));
  EXPECT_EQ(nodes[0].end, Ticks(77));
  EXPECT_EQ(nodes[0].busy, Ticks(56));
  EXPECT_EQ(nodes[0].dominant, static_cast<std::int32_t>(Pass::backward));
  EXPECT_EQ(nodes[0].dominantTicks, Ticks(35));  // 5 of 8
  EXPECT_TRUE(nodesOf(7, 100, false).empty()) << "a lane's last rows wait for the end";
}

TEST(Pyramid, ShortSegmentsHaveNoNodesAndLongOnesTheirOwn) {
  PyramidBuilder builder;
  std::vector<LevelNode> nodes;
  RowSet rows;
  for (const auto& [segment, steps] : {std::pair(0, 127), std::pair(1, 200)}) {
    for (int i = 0; i < steps; ++i) {
      Step step;
      step.segment = SegmentId(segment);
      step.lane = LaneId(2);
      step.offset = Ticks(5 * i);
      step.ticks = Ticks(5);
      rows.of<Step>().push_back(step);
    }
  }
  builder.add(rows, nodes);
  builder.flush(nodes);
  std::int64_t counted = 0;
  for (const LevelNode& node : nodes) {
    EXPECT_EQ(node.content, LevelContent::steps);
    EXPECT_EQ(node.owner, 1);
    if (node.level == 1) counted += node.count;
  }
  EXPECT_EQ(counted, 200);
}

TEST(Pyramid, AllLanesOfALongSegmentHaveTheSameLevels) {
  PyramidBuilder builder;
  std::vector<LevelNode> nodes;
  RowSet rows;
  for (int i = 0; i < kStepsOfLongSegment; ++i) {
    Step step;
    step.segment = SegmentId(0);
    step.lane = LaneId(i % 5000 == 7 ? 1 : i % 100 == 0 ? 2 : 0);
    step.offset = Ticks(5 * i);
    step.ticks = Ticks(5);
    rows.of<Step>().push_back(step);
  }
  builder.add(rows, nodes);
  builder.flush(nodes);
  std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t> counts;  // keyed by lane and level
  std::int32_t top = 0;
  for (const LevelNode& node : nodes) {
    counts[{node.lane.value, node.level}] += node.count;
    top = std::max(top, node.level);
  }
  EXPECT_EQ(top, 4);  // 16,384 ÷ 64 ÷ 8 ÷ 8 ÷ 8
  for (std::int32_t level = 1; level <= top; ++level) {
    EXPECT_EQ((counts[{1, level}]), 4);
    EXPECT_EQ((counts[{2, level}]), 164);
    EXPECT_EQ((counts[{0, level}]), kStepsOfLongSegment - 168);
  }
}

TEST(Pyramid, RowsWithoutLengthCountToo) {
  PyramidBuilder builder;
  std::vector<LevelNode> nodes;
  RowSet rows;
  for (int i = 0; i < 3; ++i) {
    Wait row;
    row.start = row.end = Ticks(i);
    rows.of<Wait>().push_back(row);
  }
  builder.add(rows, nodes);
  builder.flush(nodes);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].count, 3);
  EXPECT_EQ(nodes[0].start, Ticks(0));
  EXPECT_EQ(nodes[0].end, Ticks(2));
  EXPECT_EQ(nodes[0].busy, Ticks(0));
}

TEST(Pyramid, RowsThatCannotBeDrawnAreInNoNode) {
  PyramidBuilder builder;
  std::vector<LevelNode> nodes;
  RowSet rows;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(),
                         kMin = std::numeric_limits<std::int64_t>::min();
  for (const auto& [start, end] :
       {std::pair(kMin, kMax), std::pair(kMax, kMin), std::pair(std::int64_t{5}, std::int64_t{4})}) {
    Wait row;
    row.start = Ticks(start);
    row.end = Ticks(end);
    rows.of<Wait>().push_back(row);
  }
  builder.add(rows, nodes);
  builder.flush(nodes);
  EXPECT_TRUE(nodes.empty());
}

}  // namespace
}  // namespace pipescope::model
