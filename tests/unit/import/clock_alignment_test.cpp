#include "profiler/import/clock_alignment.h"

#include <gtest/gtest.h>

#include <random>

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::Pass;

RecordedPass pass(int stage, int microBatch, Pass kind, std::int64_t start, std::int64_t end) {
  RecordedPass result;
  result.stage = stage;
  result.microBatch = microBatch;
  result.pass = kind;
  result.start = Ticks(start);
  result.end = Ticks(end);
  return result;
}

/// A pipeline of four stages in which every message takes `latency`, recorded with clocks that are `moved`.
std::vector<std::vector<RecordedPass>> recorded(const std::vector<std::int64_t>& moved,
                                                std::int64_t latency) {
  constexpr int kStages = 4, kMicroBatches = 5;
  std::vector<std::vector<RecordedPass>> passes(kStages);
  std::vector<std::int64_t> free(kStages, 0);
  std::mt19937 random(4);
  for (int m = 0; m < kMicroBatches; ++m) {
    std::int64_t ready = 0;
    const auto run = [&](int s, Pass kind) {
      const std::int64_t start = std::max(free[s], ready), end = start + 100 + random() % 50;
      passes[s].push_back(pass(s, m, kind, start + moved[s], end + moved[s]));
      free[s] = end;
      ready = end + latency;
    };
    for (int s = 0; s < kStages; ++s) run(s, Pass::forward);
    for (int s = kStages; s-- > 0;) run(s, Pass::backward);
  }
  return passes;
}

TEST(ClockAlignment, FindsHowFarClocksAreApart) {
  const std::vector<std::int64_t> moved = {0, 5'000'000, -70'000, 123'456};
  const ClockAlignment alignment = alignClocks(recorded(moved, 6));
  EXPECT_TRUE(alignment.complete);
  EXPECT_EQ(alignment.pairs, 2 * 3 * 5);
  EXPECT_EQ(alignment.contradictions, 0);
  // Messages take as long both ways, so the middle of the range is the truth.
  for (std::size_t i = 0; i < moved.size(); ++i) EXPECT_EQ(alignment.offsets[i], -moved[i]) << i;
  EXPECT_EQ(alignment.uncertainty, 6);
}

TEST(ClockAlignment, SaysWhenClocksContradictEachOther) {
  auto passes = recorded({0, 0, 0, 0}, 2);
  // One clock jumps between the steps.
  for (std::size_t i = 4; i < passes[2].size(); ++i) {
    passes[2][i].start = passes[2][i].start + Ticks(900);
    passes[2][i].end = passes[2][i].end + Ticks(900);
  }
  EXPECT_GT(alignClocks(passes).contradictions, 0);
}

TEST(ClockAlignment, LeavesTracesWithoutCommonPasses) {
  auto passes = recorded({0, 0, 0, 0}, 2);
  passes.emplace_back();
  EXPECT_FALSE(alignClocks(passes).complete);
}

}  // namespace
}  // namespace pipescope::importing
