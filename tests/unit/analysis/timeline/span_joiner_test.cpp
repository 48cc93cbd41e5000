// Spans that are too short to be seen, joined by hand.
#include <gtest/gtest.h>

#include "profiler/analysis/timeline/range_reader.h"

namespace pipescope::analysis {
namespace {

using model::StepKind;

StepSpan spanOf(std::int64_t start, std::int64_t end, StepKind kind, int placement = 1, int lane = 0) {
  StepSpan span;
  span.lane = model::LaneId(lane);
  span.start = Ticks(start);
  span.end = Ticks(end);
  span.kind = kind;
  span.placement = model::PlacementId(placement);
  span.program = model::ProgramId(start);
  return span;
}

TEST(SpanJoiner, ASpanHasTheKindThatTakesMostOfIt) {
  SpanJoiner joiner(1, Ticks(100));
  joiner.add(spanOf(1000, 1030, StepKind::compute));
  joiner.add(spanOf(1030, 1040, StepKind::exchange));
  joiner.add(spanOf(1040, 1055, StepKind::exchange));
  joiner.add(spanOf(1099, 1104, StepKind::sync));
  const auto spans = joiner.finish();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].kind, StepKind::compute) << "30 ticks against 25 and 5";
  EXPECT_EQ(spans[0].start, Ticks(1000));
  EXPECT_EQ(spans[0].end, Ticks(1104));
  EXPECT_EQ(spans[0].steps, 4);
  EXPECT_EQ(spans[0].placement, model::PlacementId(1));
  EXPECT_FALSE(spans[0].program.valid()) << "of several";
}

TEST(SpanJoiner, ANewSpanBeginsAtTheResolution) {
  SpanJoiner joiner(2, Ticks(100));
  joiner.add(spanOf(0, 10, StepKind::compute, 1));
  joiner.add(spanOf(99, 100, StepKind::compute, 2));
  joiner.add(spanOf(100, 101, StepKind::exchange, 3));
  joiner.add(spanOf(40, 45, StepKind::sync, 4, 1));
  joiner.add(spanOf(50, 60, StepKind::sync, 5, 77));  // unknown lanes come last
  const auto spans = joiner.finish();
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[0].steps, 2);
  EXPECT_EQ(spans[0].end, Ticks(100));
  EXPECT_FALSE(spans[0].placement.valid()) << "of several";
  EXPECT_EQ(spans[1].start, Ticks(100));
  EXPECT_EQ(spans[1].kind, StepKind::exchange);
  EXPECT_EQ(spans[1].program, model::ProgramId(100)) << "alone";
  EXPECT_EQ(spans[2].lane, model::LaneId(1));
  EXPECT_EQ(spans[3].lane, model::LaneId(77));
}

}  // namespace
}  // namespace pipescope::analysis
