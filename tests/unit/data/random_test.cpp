#include "engine/data/data_random.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <set>

#include "profiler/base/philox.h"

#include "test_files.h"

namespace pipescope::data {
namespace {

TEST(DataRandom, GivesTheBlocksInOrder) {
  constexpr std::uint64_t seed = 0x1122334455667788;
  constexpr std::uint64_t stream = 0x99aabbccddeeff00;
  DataRandom random(seed, RandomPurpose::shuffle, stream);
  for (std::uint32_t block = 0; block < 3; ++block) {
    for (const std::uint32_t word :
         base::philox4x32({block, 1, 0xddeeff00, 0x99aabbcc}, {0x55667788, 0x11223344}))
      EXPECT_EQ(random.next(), word);
  }
}

TEST(DataRandom, DiffersBySeedPurposeAndStream) {
  std::set<std::uint32_t> first;
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 32U}) {
    for (const RandomPurpose purpose :
         {RandomPurpose::shuffle, RandomPurpose::trainDigits, RandomPurpose::testDigits}) {
      for (const std::uint64_t stream : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32U})
        first.insert(DataRandom(seed, purpose, stream).next());
    }
  }
  EXPECT_EQ(first.size(), 27U);
}

TEST(DataRandom, BelowIsUniform) {
  DataRandom random(5, RandomPurpose::shuffle, 0);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts.at(random.below(counts.size()));
  // A count's standard deviation is √(70000 · 1/7 · 6/7) ≈ 93.
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(DataRandom, BelowRespectsLargeBounds) {
  DataRandom random(6, RandomPurpose::shuffle, 0);
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{0xffffffff}, std::uint64_t{1} << 32U,
                                    (std::uint64_t{1} << 40U) + 1, ~std::uint64_t{0}}) {
    std::uint64_t largest = 0;
    for (int i = 0; i < 200; ++i) largest = std::max(largest, random.below(bound));
    EXPECT_LT(largest, bound);
    EXPECT_GE(largest, (bound - 1) / 2) << "200 draws all in the lower half";
  }
}

TEST(DataRandom, FloatsAreInTheirIntervals) {
  DataRandom random(7, RandomPurpose::shuffle, 0);
  double sum = 0;
  double squares = 0;
  constexpr int draws = 20'000;
  for (int i = 0; i < draws; ++i) {
    const float unit = random.unit();
    EXPECT_TRUE(unit >= 0 && unit < 1);
    const float between = random.between(-3.0F, -2.0F);
    EXPECT_TRUE(between >= -3 && between < -2);
    const double bell = static_cast<double>(random.bell());
    EXPECT_LT(bell * bell, 1.5 * 1.5);
    sum += bell;
    squares += bell * bell;
  }
  EXPECT_NEAR(sum / draws, 0, 0.02);
  EXPECT_NEAR(squares / draws, 0.25, 0.01);
}

TEST(DataRandom, RoundingNeverReachesTheUpperEnd) {
  DataRandom random(8, RandomPurpose::shuffle, 0);
  // No float lies between these neighbours, so the lower one is the only valid result.
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(random.between(16777214.0F, 16777215.0F), 16777214.0F);
}

TEST(RandomSequenceDeathTest, NothingIsBelowZero) {
  DataRandom random(9, RandomPurpose::shuffle, 0);
  EXPECT_DEATH((testing::printChecks(), random.below(0)), "below 0");
}

}  // namespace
}  // namespace pipescope::data
