// Compares the steps of a segment in a range with a search through all rows, and divides their time by kind.
#include "profiler/analysis/timeline/step_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "profiler/analysis/kind_times.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::analysis {
namespace {

/// Makes `segments` segments of `count` steps each. Each start is up to `jitter` ticks late, so that steps
/// may be out of order.
std::vector<model::Step> makeSteps(int segments, int count, int jitter, bool sameLength) {
  std::mt19937 random(5);
  std::vector<model::Step> steps;
  for (int segment = 0; segment < segments; ++segment) {
    for (int i = 0; i < count; ++i) {
      model::Step step;
      step.segment = model::SegmentId(segment);
      step.lane = model::LaneId(i % 7);
      step.offset = Ticks(10 * i + (jitter > 0 ? static_cast<int>(random()) % jitter : 0));
      step.ticks = Ticks(sameLength ? 10 : static_cast<int>(random() % 40));
      step.program = model::ProgramId(i);
      steps.push_back(step);
    }
  }
  return steps;
}

TEST(StepReader, FindsWhatMeetsTheRangeHoweverOftenAndInWhateverOrderItIsAsked) {
  for (const int jitter : {0, 5'000}) {
    for (const bool sameLength : {false, true}) {
      record::MemoryProfile profile;
      model::RowSet rows;
      rows.of<model::Step>() = makeSteps(3, 700, jitter, sameLength);
      rows.of<model::Step>()[5].ticks = Ticks(-4);  // an impossible length, so the step is not found
      rows.of<model::Step>()[6].offset = Ticks(-40);
      const std::vector<model::Step> steps = rows.of<model::Step>();
      ASSERT_TRUE(profile.commit(rows).ok());
      const auto blocks = StepBlocks::make(profile);
      ASSERT_TRUE(blocks.ok());
      base::SilentProgress progress;
      StepReader reader(*blocks, profile, progress);
      for (const auto& [from, to] : {std::pair(0, 100), std::pair(0, 100), std::pair(3000, 3600),
                                     std::pair(-50, 20'000), std::pair(3000, 3600), std::pair(6995, 6996),
                                     std::pair(20'000, 30'000), std::pair(0, 0), std::pair(1, 641)}) {
        for (const int segment : {1, 0, 2, 0}) {
          std::vector<std::int64_t> expected, found;
          for (std::size_t i = 0; i < steps.size(); ++i) {
            const model::Step& s = steps[i];
            const bool possible = s.offset.count >= 0 && s.ticks.count >= 0;
            if (possible && s.segment.value == segment && s.offset.count < to &&
                (s.offset + s.ticks).count > from)
              expected.push_back(static_cast<std::int64_t>(i));
          }
          const base::Status read =
              reader.forEach(model::SegmentId(segment), Ticks(from), Ticks(to), [&](const StepFacts& step) {
                found.push_back(step.row);
                const model::Step& s = steps[static_cast<std::size_t>(step.row)];
                EXPECT_EQ(std::tuple(step.lane, step.offset, step.ticks, step.program),
                          std::tuple(s.lane, s.offset, s.ticks, s.program));
              });
          ASSERT_TRUE(read.ok());
          EXPECT_EQ(found, expected) << from << " " << to << " of " << segment << ", jitter " << jitter;
        }
      }
    }
  }
}

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
