// Bounds that hold for every division, against divisions that are computed by hand.
#include "engine/plan/closed_forms.h"

#include <gtest/gtest.h>

namespace pipescope::plan {
namespace {

TEST(ClosedForms, ALastPlaceThatDoesNotRecomputeTakesMore) {
  EXPECT_DOUBLE_EQ(leastLongestPlace(100, 50, 1), 100);
  // The first place takes 40 of 100 and recomputes half of that; the last one takes 60.
  EXPECT_DOUBLE_EQ(leastLongestPlace(100, 50, 2), 60);
  // Three places that recompute take 30, and 30 once more; the last one takes 60.
  EXPECT_NEAR(leastLongestPlace(150, 150, 4), 60, 1e-9);
  EXPECT_DOUBLE_EQ(leastLongestPlace(100, 0, 4), 25);
}

TEST(ClosedForms, ThePipelineThatFillsFastestGrowsGeometrically) {
  EXPECT_DOUBLE_EQ(leastPipelineTime(6, 5, 1), 30);
  // Stages of 4 and 2, twice each: 2 · 4 is 8, and so is 2 · 2 behind the first one's 4.
  EXPECT_DOUBLE_EQ(leastPipelineTime(6, 2, 2), 8);
  EXPECT_DOUBLE_EQ(leastPipelineTime(6, 1, 3), 6) << "one micro-batch passes through all of the work";
}

TEST(ClosedForms, EachStageOfZeroDividesItsPartAmongReplicas) {
  const HeldBytes all{.weights = 100, .optimizer = 400, .accumulators = 200};
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 4, 0, 8), 700);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 4, 1, 8), 100 + 100 + 200);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 4, 2, 8), 100 + 100 + 50);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 4, 3, 8), 25 + 100 + 50);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 4, 0, 1), 500) << "one micro-batch needs no sums";
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 1, 4, 0, 2), 700);
  EXPECT_DOUBLE_EQ(leastHeldBytes(all, 5, 4, 0, 8), 140);
}

TEST(ClosedForms, FillAndMicroBatchesInFlightFollowTheSchedule) {
  EXPECT_DOUBLE_EQ(expectedFill("1f1b", 7, 1), 6);
  EXPECT_DOUBLE_EQ(expectedFill("interleaved-1f1b", 7, 3), 2);
  EXPECT_DOUBLE_EQ(expectedFill("1f1b", 7, 0), 6);
  EXPECT_DOUBLE_EQ(expectedFill("zb-h1", 7, 1), 2);
  EXPECT_DOUBLE_EQ(expectedFill("zb-v", 7, 2), 1);
  EXPECT_DOUBLE_EQ(expectedInFlight("gpipe", 4, 1, 32), 32);
  EXPECT_DOUBLE_EQ(expectedInFlight("gpipe", 1, 1, 32), 1);
  EXPECT_DOUBLE_EQ(expectedInFlight("popart", 4, 1, 32), 7);
  EXPECT_DOUBLE_EQ(expectedInFlight("popart", 4, 1, 6), 6);
  EXPECT_DOUBLE_EQ(expectedInFlight("zb-v", 4, 2, 32), 8);
  EXPECT_DOUBLE_EQ(expectedInFlight("zb-h1", 4, 1, 32), 6);
  EXPECT_DOUBLE_EQ(expectedInFlight("1f1b", 4, 1, 32), 4);
  EXPECT_DOUBLE_EQ(expectedInFlight("1f1b", 4, 1, 3), 3);
  EXPECT_DOUBLE_EQ(expectedInFlight("interleaved-1f1b", 4, 2, 32), 7.5);
}

}  // namespace
}  // namespace pipescope::plan
