// Compares unions of intervals with a count of the ticks that any interval covers.
#include "profiler/analysis/intervals.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace pipescope::analysis {
namespace {

using base::Ticks;

TEST(Intervals, CountEveryMomentOnce) {
  std::mt19937 random(3);
  const auto pick = [&](std::uint32_t below) { return static_cast<std::int64_t>(random() % below); };
  for (int round = 0; round < 200; ++round) {
    Intervals one, other;
    std::set<std::int64_t> inOne, inOther;
    for (int i = 0; i < 12; ++i) {
      const std::int64_t start = pick(80) - 20, end = start + pick(9) - 1;
      (i % 2 == 0 ? one : other).add(Ticks(start), Ticks(end));
      for (std::int64_t t = start; t < end; ++t) (i % 2 == 0 ? inOne : inOther).insert(t);
    }
    std::int64_t both = 0;
    for (const std::int64_t t : inOne) both += inOther.contains(t) ? 1 : 0;
    EXPECT_EQ(one.unionLength(), Ticks(static_cast<std::int64_t>(inOne.size()))) << round;
    EXPECT_EQ(commonLength(one, other), Ticks(both)) << round;
    EXPECT_EQ(one.empty(), inOne.empty());
    const auto alone = static_cast<std::int64_t>(inOther.size()) - both;
    EXPECT_EQ(freeLength(one.joined(), other.joined()), Ticks(alone)) << round;
  }
}

TEST(Intervals, ThatFollowEachOtherAreOne) {
  Intervals intervals;
  for (int i = 0; i < 1000; ++i) intervals.add(Ticks(10 * i), Ticks(10 * i + 10));
  EXPECT_EQ(intervals.joined(), (std::vector<Intervals::Interval>{{Ticks(0), Ticks(10'000)}}));
}

}  // namespace
}  // namespace pipescope::analysis
