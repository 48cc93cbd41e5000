// Tests the division of a unit's addresses on worked examples: a unit of 1,000 bytes whose interleaved memory
// begins at 600, with elements of 100 bytes.
#include "profiler/model/unit_pools.h"

#include <string>

#include "gtest/gtest.h"

namespace pipescope::model {
namespace {

/// "a0 0+50" is 50 bytes of the first always-live amount from address 0 on; s, i, o, t and g stand for what
/// may lie anywhere, what needs interleaved memory, what needs its own element, what needs another one, and
/// gaps.
std::string division(const UnitDemand& demand) {
  std::string text;
  for (const UnitPool& pool : unitPools({1000, 600, 100}, demand)) {
    constexpr char kUses[] = {'a', 's', 'i', 'o', 't', 'g'};
    if (!text.empty()) text += ", ";
    text += kUses[static_cast<std::size_t>(pool.use)];
    if (pool.use == UnitPool::Use::alwaysLive) text += std::to_string(pool.index);
    text += " " + std::to_string(pool.from) + "+" + std::to_string(pool.bytes);
  }
  return text;
}

TEST(UnitPools, WhatIsAlwaysLiveComesBeforeWhatSharesAddresses) {
  EXPECT_EQ(division({{50, 70}, 30, 0, 0}), "a0 0+50, a1 50+70, s 120+30");
  EXPECT_EQ(division({{}, 0, 0, 0}), "");
}

TEST(UnitPools, InterleavedMemoryLeavesAGapBelow) {
  EXPECT_EQ(division({{50}, 90, 60, 0}), "i 600+60, a0 0+50, s 50+30, g 80+520");
}

TEST(UnitPools, WhatIsAlwaysLiveMayNeedInterleavedMemory) {
  EXPECT_EQ(division({{50, 70}, 90, 60, 0, 0, {0, 30}}),
            "a1 600+30, i 630+60, a0 0+50, a1 50+40, s 90+30, g 120+480");
  EXPECT_EQ(division({{20, 5}, 0, 0, 0, 0, {20}}), "a0 600+20, a1 0+5, g 5+595");
}

TEST(UnitPools, AnOwnElementBeginsAtTheNextElement) {
  EXPECT_EQ(division({{50}, 40, 0, 40}), "a0 0+50, g 50+50, o 100+40");
  EXPECT_EQ(division({{100}, 40, 0, 40}), "a0 0+100, o 100+40");
  EXPECT_EQ(division({{550}, 40, 0, 40}), "a0 0+550, o 550+40") << "no whole element is left below";
}

TEST(UnitPools, AnotherElementBeginsBehindTheOwnOne) {
  EXPECT_EQ(division({{50}, 70, 0, 40, 30}), "a0 0+50, g 50+50, o 100+40, g 140+60, t 200+30");
  EXPECT_EQ(division({{50}, 30, 0, 0, 30}), "a0 0+50, g 50+50, t 100+30");
}

TEST(UnitPools, WhatNeedsInterleavedMemoryBeginsAnElementOfItsOwnBehindOthers) {
  // Two elements of 100 bytes are interleaved, so sums begin at 800 if 20 bytes of others find no room below.
  EXPECT_EQ(division({{590, 30}, 50, 50, 0}), "a0 0+590, a1 590+10, a1 600+20, g 620+180, i 800+50");
  EXPECT_EQ(division({{800}, 50, 50, 0}), "a0 0+600, a0 600+200, i 800+50") << "no gap at an element's end";
  EXPECT_EQ(division({{590, 30}, 300, 300, 0}), "i 600+300, a0 0+590, a1 590+10, a1 900+20") << "no room";
}

TEST(UnitPools, WhatFindsNoRoomBelowThenOverflows) {
  EXPECT_EQ(division({{950}, 100, 0, 0}), "a0 0+600, a0 600+350, s 950+50, s 1000+50");
  EXPECT_EQ(division({{10}, 450, 450, 0}), "i 600+400, i 1000+50, a0 0+10, g 10+590");
}

TEST(UnitPools, PeaksAtDifferentTimesNeedNoMoreThanTheLargest) {
  // 60 bytes in interleaved memory and 80 elsewhere, but never more than 100 at once.
  EXPECT_EQ(division({{}, 100, 60, 0}), "i 600+60, s 0+40, g 40+560");
}

}  // namespace
}  // namespace pipescope::model
