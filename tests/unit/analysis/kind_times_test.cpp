// Divides times of segments between kinds of steps, by hand.
#include "profiler/analysis/kind_times.h"

#include <gtest/gtest.h>

namespace pipescope::analysis {
namespace {

using base::Ticks;

TEST(ExclusiveTicks, APartThatHoldsNothingHasNoTicks) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> empty = {{30, 30}, {40, 30}, {120, 150}, {-9, 0}};
  model::Step step;
  step.ticks = Ticks(100);
  for (const auto& [from, to] : empty) {
    EXPECT_EQ(exclusiveTicks({}, model::Pass::forward, Ticks(100), Ticks(from), Ticks(to)), TicksByKind{});
    EXPECT_EQ(exclusiveTicks({&step, 1}, model::Pass::forward, Ticks(100), Ticks(from), Ticks(to)),
              TicksByKind{});
  }
  TicksByKind whole{};
  whole[kindIndex(model::StepKind::compute)] = 100;
  EXPECT_EQ(exclusiveTicks({}, model::Pass::forward, Ticks(100), Ticks(-5), Ticks(150)), whole);
}

}  // namespace
}  // namespace pipescope::analysis
