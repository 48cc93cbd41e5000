#include "engine/data/batch_order.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>

#include "test_files.h"

namespace pipescope::data {
namespace {

using base::ErrorKind;
using ::testing::ElementsAre;
using testing::expectError;

TEST(BatchShape, RowsOfTheTutorials) {
  EXPECT_EQ((BatchShape{.microBatch = 40, .deviceIterations = 10, .accumulation = 10}.rows()), 4000);
  EXPECT_EQ((BatchShape{.microBatch = 8, .deviceIterations = 100}.rows()), 800);
  EXPECT_EQ((BatchShape{.microBatch = 16, .deviceIterations = 4, .accumulation = 8, .replicas = 4}.rows()),
            2048);
  EXPECT_EQ((BatchShape{.microBatch = 16, .deviceIterations = 4, .accumulation = 8}.rows()), 512);
}

TEST(BatchShape, BlockOrderIsIterationsStepsReplicas) {
  const BatchShape shape{.microBatch = 5, .deviceIterations = 2, .accumulation = 3, .replicas = 4};
  for (std::int64_t block = 0; block < shape.blocks(); ++block) {
    // Block k belongs to replica k mod R, accumulation step (k div R) mod G and iteration k div (R·G).
    EXPECT_EQ(shape.firstRow(block / 12, (block / 4) % 3, block % 4), block * 5);
  }
  EXPECT_EQ(shape.blocks() * 5, shape.rows());
}

TEST(BatchShape, RefusesFactorsBelowOneAndHugeProducts) {
  EXPECT_TRUE(checkBatchShape({}).ok());
  expectError(checkBatchShape({.microBatch = 0}), ErrorKind::badInput,
              {"a micro-batch size of 0", "at least 1"});
  expectError(checkBatchShape({.deviceIterations = -3}), ErrorKind::badInput,
              {"number of device iterations of -3"});
  expectError(checkBatchShape({.accumulation = 0}), ErrorKind::badInput, {"gradient accumulation of 0"});
  expectError(checkBatchShape({.replicas = 0}), ErrorKind::badInput, {"number of replicas of 0"});
  expectError(checkBatchShape({.microBatch = 1 << 16, .deviceIterations = 1 << 15}), ErrorKind::badInput,
              {"more than 2,147,483,647 samples", "65536 micro-batch size × 32768 device"});
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(checkBatchShape({huge, huge, huge, huge}).ok());
}

TEST(Partition, CutsTheSetForEachInstance) {
  // Execution semantics §1.8: each process reads a consecutive range of combined · ⌊len / (combined · P)⌋
  // items.
  const auto range = [](std::int64_t size, std::int64_t rows, std::int64_t instances, std::int64_t instance,
                        std::int64_t epoch, bool shuffle) {
    const OrderRange found = rangeOf(size, rows, {instances, instance}, epoch, shuffle);
    return std::pair(found.first, found.count);
  };
  EXPECT_EQ(range(60000, 4000, 1, 0, 0, true), std::pair(0L, 60000L));
  EXPECT_EQ(range(60000, 512, 4, 0, 0, true), std::pair(0L, 14848L));  // 29 calls each
  EXPECT_EQ(range(60000, 512, 4, 3, 0, true), std::pair(3 * 14848L, 14848L));
  // 608 samples do not fill a call. Runs leave them out at the end, and in odd shuffled epochs at the
  // beginning.
  EXPECT_EQ(range(60000, 512, 4, 0, 1, true), std::pair(608L, 14848L));
  EXPECT_EQ(range(60000, 512, 4, 3, 1, true), std::pair(60000L - 14848L, 14848L));
  EXPECT_EQ(range(60000, 512, 4, 0, 1, false), std::pair(0L, 14848L));
  EXPECT_EQ(range(10000, 800, 1, 0, 1, true), std::pair(0L, 9600L));
}

// An independent Python program computed these figures. It uses Philox4x32-10, Lemire's bounded numbers and
// a Fisher–Yates shuffle that starts at the end.
TEST(EpochOrder, KnownPermutations) {
  EXPECT_THAT(epochOrder(10, 42, 0, true), ElementsAre(7, 5, 3, 8, 6, 0, 9, 1, 4, 2));
  EXPECT_THAT(epochOrder(10, 42, 3, true), ElementsAre(3, 7, 0, 8, 1, 2, 5, 6, 4, 9));
  EXPECT_THAT(epochOrder(10, (std::uint64_t{7} << 32U) + 42, 0, true),
              ElementsAre(9, 6, 8, 0, 2, 4, 1, 7, 3, 5));
}

TEST(EpochOrder, IsAPermutation) {
  for (const std::int64_t size : {1, 2, 3, 1000, 60'000}) {
    std::vector<std::int64_t> order = epochOrder(size, 1, 0, true);
    std::sort(order.begin(), order.end());
    std::vector<std::int64_t> expected(static_cast<std::size_t>(size));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(order, expected);
  }
}

TEST(EpochOrder, DiffersByEpochAndSeedAndRepeats) {
  std::set<std::vector<std::int64_t>> orders;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    for (const std::int64_t epoch : {0, 1, 2}) orders.insert(epochOrder(100, seed, epoch, true));
  }
  EXPECT_EQ(orders.size(), 9U);
  EXPECT_EQ(epochOrder(100, 1, 2, true), epochOrder(100, 1, 2, true));
}

TEST(EpochOrder, EveryPermutationIsAsLikely) {
  // Each of the six permutations of three should occur 2,000 times over 12,000 epochs, with a standard
  // deviation of 41.
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::int64_t epoch = 0; epoch < 12'000; ++epoch) ++counts[epochOrder(3, 5, epoch, true)];
  EXPECT_EQ(counts.size(), 6U);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 2000, 205);
}

TEST(EpochOrder, UnshuffledIsAscending) {
  EXPECT_THAT(epochOrder(4, 1, 7, false), ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace pipescope::data
