// Compares unions of intervals with a count of the ticks that any interval covers.
#include "profiler/base/intervals.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace pipescope::base {
namespace {

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

TEST(Intervals, ComeInAnyOrder) {
  std::mt19937 random(7);
  const auto pick = [&](std::uint32_t below) { return static_cast<std::int64_t>(random() % below); };
  // Most begin near the last one, as rows of a device do; some far back, before many others.
  for (int round = 0; round < 40; ++round) {
    Intervals all;
    std::set<std::int64_t> covered;
    for (int i = 0; i < 400; ++i) {
      const std::int64_t late = pick(round % 2 == 0 ? 20 : 2'000);
      const std::int64_t start = 6 * i - (pick(40) == 0 ? late : pick(30)), end = start + pick(8);
      all.add(Ticks(start), Ticks(end));
      for (std::int64_t t = start; t < end; ++t) covered.insert(t);
      if (i % 100 == 99) {
        ASSERT_EQ(all.unionLength(), Ticks(static_cast<std::int64_t>(covered.size()))) << round << " " << i;
      }
    }
    const auto joined = all.joined();
    for (std::size_t i = 1; i < joined.size(); ++i) EXPECT_GT(joined[i].first, joined[i - 1].second);
  }
}

TEST(Intervals, ThatFollowEachOtherAreOne) {
  Intervals intervals;
  for (int i = 0; i < 1000; ++i) intervals.add(Ticks(10 * i), Ticks(10 * i + 10));
  EXPECT_EQ(intervals.joined(), (std::vector<Intervals::Interval>{{Ticks(0), Ticks(10'000)}}));
}

}  // namespace
}  // namespace pipescope::base
