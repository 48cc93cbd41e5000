// Checks how lists of whole numbers are written against texts that are written by hand.
#include "profiler/base/number_ranges.h"

#include <gtest/gtest.h>

namespace pipescope::base {
namespace {

TEST(NumberRanges, StandForThreeOrMoreThatFollowOneAnother) {
  EXPECT_EQ(numberRanges({}), "");
  EXPECT_EQ(numberRanges({4}), "4");
  EXPECT_EQ(numberRanges({0, 1}), "0, 1") << "two are no longer than a range";
  EXPECT_EQ(numberRanges({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), "0–12");
  EXPECT_EQ(numberRanges({0, 2, 5, 6, 7, 8}), "0, 2, 5–8");
  EXPECT_EQ(numberRanges({0, 7}), "0, 7") << "a pipeline in the shape of a V";
  EXPECT_EQ(numberRanges({24, 23, 22, 12}), "24–22, 12") << "downwards, too";
  EXPECT_EQ(numberRanges({1, 3, 5}), "1, 3, 5");
  EXPECT_EQ(numberRanges({3, 4, 3}), "3, 4, 3") << "no range turns round";
}

TEST(NumberRanges, MayEndWithAnotherWord) {
  EXPECT_EQ(numberRanges({0, 2, 4, 5, 6}, " and "), "0, 2 and 4–6");
  EXPECT_EQ(numberRanges({0, 1, 2}, " and "), "0–2");
}

}  // namespace
}  // namespace pipescope::base
