// CountedOnce against a count of single ticks.
#include "profiler/analysis/counted_once.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace pipescope::analysis {
namespace {

using base::Ticks;

constexpr int kTicks = 60;

struct Placement {
  int start, end;
};

std::vector<Placement> placementsOfLane(std::mt19937& random) {
  std::vector<Placement> placements(random() % 6);
  for (Placement& each : placements) {
    each.start = static_cast<int>(random() % kTicks);
    each.end = each.start + static_cast<int>(random() % static_cast<unsigned>(kTicks - each.start + 1));
  }
  std::ranges::stable_sort(placements, {}, &Placement::start);
  return placements;
}

TEST(CountedOnce, EqualsACountOfSingleTicks) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    CountedOnce counted;
    std::array<bool, kTicks> taken{};
    const unsigned lanes = random() % 4;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      counted.nextLane();
      for (const Placement& placement : placementsOfLane(random)) {
        int expected = 0;
        for (int tick = placement.start; tick < placement.end; ++tick) {
          expected += taken[static_cast<std::size_t>(tick)] ? 0 : 1;
          taken[static_cast<std::size_t>(tick)] = true;
        }
        Ticks length;
        counted.add(Ticks(placement.start), Ticks(placement.end),
                    [&](Ticks from, Ticks to) { length += to - from; });
        EXPECT_EQ(length, Ticks(expected)) << "round " << round;
      }
    }
    EXPECT_EQ(counted.busyLength(), Ticks(std::ranges::count(taken, true)));
  }
}

}  // namespace
}  // namespace pipescope::analysis
