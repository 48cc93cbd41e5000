// Tests how segments of a place become longer if its ranks compute or exchange slower. Expected times are
// worked out by hand.
#include <gtest/gtest.h>

#include "engine/emulate/replica_parts.h"

namespace pipescope::emulate {
namespace {

devices::LoweredStep slowRankStep(model::LaneRole lane, std::int64_t offset, std::int64_t ticks) {
  devices::LoweredStep step;
  step.kind = lane == model::LaneRole::network ? model::StepKind::globalExchange : model::StepKind::compute;
  step.lane = lane;
  step.offset = Ticks(offset);
  step.ticks = step.minTicks = step.maxTicks = Ticks(ticks);
  step.meanTicks = static_cast<double>(ticks);
  return step;
}

/// Product A, then a sum over ranks beside product B, then product C, which needs the sum, and two ticks
/// more.
devices::LoweredSegment segmentOfRanks() {
  using enum model::LaneRole;
  devices::LoweredSegment segment;
  segment.ticks = Ticks(42);
  segment.steps = {slowRankStep(matrix, 0, 10), slowRankStep(network, 10, 20), slowRankStep(matrix, 10, 10),
                   slowRankStep(matrix, 30, 10)};
  return segment;
}

std::vector<std::int64_t> timesOf(const devices::LoweredSegment& segment) {
  std::vector<std::int64_t> times;
  for (const devices::LoweredStep& step : segment.steps) {
    times.push_back(step.offset.count);
    times.push_back((step.offset + step.ticks).count);
  }
  times.push_back(segment.ticks.count);
  return times;
}

TEST(SlowRanks, WaitForWhatHadEnded) {
  const auto slowed = [](double compute, double exchange) {
    devices::LoweredSegment segment = segmentOfRanks();
    slowDown(segment, compute, exchange);
    return timesOf(segment);
  };
  using Times = std::vector<std::int64_t>;
  EXPECT_EQ(slowed(1, 1), timesOf(segmentOfRanks()));
  EXPECT_EQ(slowed(1, 2), (Times{0, 10, 10, 50, 10, 20, 50, 60, 62})) << "all wait for the slow link";
  EXPECT_EQ(slowed(2, 1), (Times{0, 20, 20, 40, 20, 40, 40, 60, 64})) << "the sum is hidden";
  EXPECT_EQ(slowed(4, 1), (Times{0, 40, 40, 60, 40, 80, 80, 120, 128}));
  EXPECT_EQ(slowed(1, 0.5), (Times{0, 10, 10, 20, 10, 20, 20, 30, 32})) << "a faster link";
}

TEST(SlowRanks, WithoutACollectiveAllIsCompute) {
  devices::LoweredSegment segment = segmentOfRanks();
  segment.steps.erase(segment.steps.begin() + 1);
  slowDown(segment, 2, 8);
  EXPECT_EQ(timesOf(segment), (std::vector<std::int64_t>{0, 20, 20, 40, 60, 80, 84}));
}

TEST(SlowRanks, APlaceIsAsSlowAsItsSlowestRank) {
  ExecutableFacts facts;
  facts.scales = {{4, 0.5, 1}, {6, 0.9, 0.8}, {8, 0.1, 0.1}};
  const DeviceScale slowest = scaleOfPlace(facts, 4, 4);
  EXPECT_EQ(slowest.compute, 0.5);
  EXPECT_EQ(slowest.link, 0.8);
  EXPECT_EQ(scaleOfPlace(facts, 0, 4).compute, 1);
}

}  // namespace
}  // namespace pipescope::emulate
