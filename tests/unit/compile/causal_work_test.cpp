// Checks what causal attention computes against counts pair by pair, and against the closed form of ranks
// that share the positions of a sample.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/compile/attention/causal_work.h"

namespace pipescope::compile {
namespace {

/// Counts tiles of 128 queries that see a key of a tile of 128 keys, pair by pair.
std::int64_t countedPairs(std::int64_t firstQuery, std::int64_t endQuery, std::int64_t firstKey,
                          std::int64_t endKey) {
  std::int64_t pairs = 0;
  for (std::int64_t query = firstQuery; query < endQuery; ++query) {
    const std::int64_t last = std::min(endQuery, firstQuery + ((query - firstQuery) / 128 + 1) * 128) - 1;
    for (std::int64_t key = firstKey; key < endKey; ++key) {
      const std::int64_t tile = firstKey + (key - firstKey) / 128 * 128;
      pairs += tile <= last ? 1 : 0;
    }
  }
  return pairs;
}

TEST(CausalWork, CountsTilesThatSomeQuerySees) {
  const std::int64_t ranges[][4] = {{0, 512, 0, 512},   {512, 1024, 0, 512}, {0, 512, 512, 1024},
                                    {100, 400, 0, 500}, {0, 1, 0, 1},        {256, 300, 250, 301},
                                    {0, 130, 0, 130},   {700, 701, 0, 2048}};
  for (const auto& [a, b, c, d] : ranges) EXPECT_EQ(causalPairs(a, b, c, d), countedPairs(a, b, c, d)) << a;
}

/// Neighbouring positions: (2c − 1) ÷ c. An early and a late part: 1. (parallelism, §5)
TEST(CausalWork, RanksFollowTheClosedForm) {
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    const CausalRanks neighbours{65536, ranks, false}, paired{65536, ranks, true};
    const double expected = static_cast<double>(2 * ranks - 1) / static_cast<double>(ranks);
    const auto total = static_cast<double>(causalPairs(0, 65536, 0, 65536));
    const auto most = [&](const CausalRanks& of) {
      return static_cast<double>(mostCausalPairs(of) * ranks) / total;
    };
    EXPECT_NEAR(most(neighbours), expected, 0.01 * expected);
    EXPECT_NEAR(causalImbalance(neighbours), expected, 0.01 * expected);
    EXPECT_NEAR(most(paired), 1, 0.01);
    EXPECT_DOUBLE_EQ(causalImbalance(paired), 1);
    for (const CausalRanks& of : {neighbours, paired}) {
      const std::vector<std::int64_t> steps = causalPairsOfRing(of);
      EXPECT_EQ(steps.size(), static_cast<std::size_t>(ranks));
      // No rank waits for another one's longer step: the same rank has the most in each of them.
      EXPECT_EQ(std::accumulate(steps.begin(), steps.end(), std::int64_t{0}), mostCausalPairs(of)) << ranks;
    }
  }
}

TEST(CausalWork, PartsThatDoNotDivideAreNeighbours) {
  const CausalRanks odd{12, 4, true};
  EXPECT_FALSE(odd.pairs());
  EXPECT_DOUBLE_EQ(causalImbalance(odd), (10.0 + 11 + 12) * 4 / (12 * 13 / 2.0));
}

}  // namespace
}  // namespace pipescope::compile
