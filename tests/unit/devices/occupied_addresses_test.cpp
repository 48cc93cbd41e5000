#include "engine/devices/hbm_card/occupied_addresses.h"

#include <gtest/gtest.h>

#include <random>

namespace pipescope::devices::hbm_card {
namespace {

TEST(AddressSet, JoinsNeighboursAndFindsWhatMeets) {
  AddressSet set;
  EXPECT_EQ(set.behind(0, 10), 0);
  set.add(10, 20);
  set.add(30, 40);
  EXPECT_EQ(set.behind(0, 10), 0);
  EXPECT_EQ(set.behind(0, 11), 20);
  EXPECT_EQ(set.behind(20, 30), 20);
  EXPECT_EQ(set.behind(0, 100), 40) << "the last one that meets";
  set.add(20, 30);
  EXPECT_EQ(set.behind(0, 11), 40);
  set.add(5, 5);
  EXPECT_EQ(set.behind(0, 10), 0);
}

/// The lowest address for random variables is the one that trying all addresses finds.
TEST(OccupiedAddresses, FindsTheLowestAddress) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    const auto steps = static_cast<std::int32_t>(1 + random() % 40);
    struct Taken {
      std::vector<LifeSteps> lives;
      std::int64_t address, bytes;
    };
    std::vector<Taken> all;
    OccupiedAddresses occupied(steps);
    for (int i = 0; i < 60; ++i) {
      Taken next{{}, 0, static_cast<std::int64_t>(random() % 9)};
      for (std::size_t life = 0; life < 1 + random() % 3; ++life) {
        const auto first = static_cast<std::int32_t>(random() % static_cast<unsigned>(steps));
        const auto length = 1 + random() % static_cast<unsigned>(steps - first);
        next.lives.push_back({first, first + static_cast<std::int32_t>(length)});
      }
      const auto isFree = [&](std::int64_t address) {
        for (const Taken& other : all) {
          if (other.address >= address + next.bytes || address >= other.address + other.bytes) continue;
          for (const LifeSteps a : other.lives) {
            for (const LifeSteps b : next.lives) {
              if (a.first < b.end && b.first < a.end) return false;
            }
          }
        }
        return true;
      };
      while (next.bytes > 0 && !isFree(next.address)) ++next.address;
      ASSERT_EQ(occupied.lowest(next.lives, next.bytes), next.address) << round << ", " << i;
      occupied.take(next.lives, next.address, next.bytes);
      all.push_back(next);
    }
  }
}

}  // namespace
}  // namespace pipescope::devices::hbm_card
