#include "profiler/base/short_names.h"

#include <gtest/gtest.h>

namespace pipescope::base {
namespace {

using Names = std::vector<std::string>;

TEST(ShortNames, WhatAllNamesHaveInCommonIsLeftOut) {
  EXPECT_EQ(shortNames({"DP rank [0], PP rank 0, TP rank 0", "DP rank [1], PP rank 0, TP rank 0",
                        "DP rank [0], PP rank 3, TP rank 0"}),
            (Names{"DP [0], PP 0", "DP [1], PP 0", "DP [0], PP 3"}));
  EXPECT_EQ(shortNames({"host a · GPU 0", "host a · GPU 1"}), (Names{"GPU 0", "GPU 1"}));
}

TEST(ShortNames, BothEndsOfALinkAreNames) {
  EXPECT_EQ(shortNames({"DP rank 0, PP rank 0 → DP rank 1, PP rank 0",
                        "DP rank 1, PP rank 0 → DP rank 0, PP rank 0"}),
            (Names{"DP 0 → DP 1", "DP 1 → DP 0"}));
  EXPECT_EQ(shortNames({"a, x 0 → host", "host → a, x 1"}), (Names{"x 0 → host", "host → x 1"}));
  EXPECT_EQ(shortNames({"IPU0 → IPU1"}), (Names{"IPU0 → IPU1"}));
}

TEST(ShortNames, OtherNamesStay) {
  EXPECT_EQ(shortNames({"a, x 0", "a, x 1", "host"}), (Names{"x 0", "x 1", "host"}));
  EXPECT_EQ(shortNames({"IPU0", "IPU1"}), (Names{"IPU0", "IPU1"}));
  EXPECT_EQ(shortNames({"a, b"}), (Names{"a, b"}));
  EXPECT_EQ(shortNames({"a, b", "a, b"}), (Names{"a, b", "a, b"})) << "nothing tells them apart";
  EXPECT_EQ(shortNames({"rank 0, fast", "rank 1, very slow"}), (Names{"rank 0, fast", "rank 1, very slow"}));
  EXPECT_EQ(shortNames({}), Names());
}

TEST(ShortNames, APartOfAThingNeedNotRepeatTheNameOfTheThing) {
  const std::string rank = "DP rank [0], PP rank 0, TP rank 0";
  EXPECT_EQ(withoutPartsOf(rank, "PP rank 0, TP rank 0, pp-comm"), "pp-comm");
  EXPECT_EQ(withoutPartsOf(rank, "PP rank 0, TP rank 0, compute, level 2"), "compute, level 2");
  EXPECT_EQ(withoutPartsOf(rank, "passes"), "passes");
  EXPECT_EQ(withoutPartsOf(rank, rank), rank) << "a name is never empty";
  EXPECT_EQ(withoutPartsOf("rank 0", "stream 7, rank 0"), "stream 7, rank 0");
}

}  // namespace
}  // namespace pipescope::base
