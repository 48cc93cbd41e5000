// Tests where spans of the host lie beside the calls of the devices, with figures worked out by hand.
#include "profiler/analysis/host/host_alignment.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace pipescope::analysis {
namespace {

model::Run callOf(std::int64_t wallStart, std::int64_t wallEnd, std::int64_t start, std::int64_t end) {
  model::Run run;
  run.wallStartNs = wallStart;
  run.wallEndNs = wallEnd;
  run.start = Ticks(start);
  run.end = Ticks(end);
  return run;
}

std::pair<std::int64_t, std::int64_t> placed(const HostAlignment& alignment, std::int64_t start,
                                             std::int64_t end) {
  const auto place = alignment.onDevices(Ticks(start), Ticks(end));
  if (!place) return {-1, -1};
  return {place->first.count, place->second.count};
}

using Span = std::pair<std::int64_t, std::int64_t>;

TEST(HostAlignment, MomentsOfACallLieAtTheSameShareOfBothClocks) {
  // Two calls of 100 ns, which take 10 and 20 ticks; 50 ns lie between them, and 5 ticks. Time 0 is 1,000 ns.
  const HostAlignment alignment({callOf(1'250, 1'350, 15, 35), callOf(1'100, 1'200, 0, 10)}, 1'000);
  EXPECT_EQ(placed(alignment, 100, 200), Span(0, 10));
  EXPECT_EQ(placed(alignment, 110, 150), Span(1, 5));
  EXPECT_EQ(placed(alignment, 200, 250), Span(10, 15)) << "between the calls";
  EXPECT_EQ(placed(alignment, 250, 300), Span(15, 25));
  EXPECT_EQ(placed(alignment, 150, 300), Span(5, 25)) << "over both";
  EXPECT_EQ(placed(alignment, 0, 120), Span(0, 2)) << "what lies before the calls is cut off";
  EXPECT_EQ(placed(alignment, 300, 900), Span(25, 35));
  EXPECT_EQ(placed(alignment, 0, 90), Span(-1, -1)) << "before all calls";
  EXPECT_EQ(placed(alignment, 350, 350), Span(35, 35)) << "an event with the end of the last call";
  EXPECT_EQ(placed(alignment, 351, 351), Span(-1, -1));
  EXPECT_EQ(placed(alignment, 100, 100), Span(0, 0));
  EXPECT_EQ(placed(alignment, 99, 99), Span(-1, -1));
  EXPECT_EQ(placed(alignment, 360, 400), Span(-1, -1)) << "after all calls";
  EXPECT_EQ(placed(alignment, 150, 150), Span(5, 5)) << "an event";
  for (const auto& [device, wall] : {Span(0, 100), Span(5, 150), Span(12, 220), Span(25, 300), Span(99, 350)})
    EXPECT_EQ(alignment.onHost(Ticks(device)).count, wall) << device;
}

TEST(HostAlignment, APauseThatTheDevicesDoNotHaveHasNoTime) {
  const HostAlignment alignment({callOf(0, 100, 0, 10), callOf(500, 600, 10, 20)}, 0);
  EXPECT_EQ(placed(alignment, 200, 400), Span(-1, -1));
  EXPECT_EQ(placed(alignment, 50, 550), Span(5, 15));
  EXPECT_EQ(placed(alignment, 90, 500), Span(9, 10));
  EXPECT_EQ(placed(alignment, 500, 510), Span(10, 11));
}

TEST(HostAlignment, CallsWithoutAWallTimeOrOutOfOrderAreLeftOut) {
  EXPECT_TRUE(HostAlignment({callOf(0, 0, 0, 10)}, 0).empty());
  EXPECT_TRUE(HostAlignment({}, 0).empty());
  EXPECT_FALSE(HostAlignment({}, 0).onDevices(Ticks(0), Ticks(1)).has_value());
  EXPECT_EQ(HostAlignment({}, 0).onHost(Ticks(7)), Ticks(0));
  // The second call overlaps the first one on the host; the third one goes back in time on the devices.
  const HostAlignment alignment(
      {callOf(0, 100, 50, 60), callOf(90, 150, 60, 70), callOf(200, 300, 0, 10), callOf(400, 500, 60, 80)},
      0);
  EXPECT_EQ(placed(alignment, 400, 500), Span(60, 80));
  EXPECT_EQ(placed(alignment, 200, 300), Span(-1, -1));
  // Times at the ends of the range of numbers do not overflow.
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(HostAlignment({callOf(-2, 10, 0, 1)}, kMost).empty());
  const HostAlignment wide({callOf(0, kMost, 0, kMost)}, 0);
  EXPECT_EQ(placed(wide, 0, kMost / 2), Span(0, kMost / 2));
}

}  // namespace
}  // namespace pipescope::analysis
