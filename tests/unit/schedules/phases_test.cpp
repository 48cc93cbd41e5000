// The worked numbers of phased execution (execution semantics §1.5).
#include <gtest/gtest.h>

#include "engine/schedules/phases.h"

namespace pipescope::schedules {
namespace {

using Numbers = std::vector<int>;

TEST(Phases, AreNumberedAsPopTorchDoes) {
  const PhaseNumbers both = phaseNumbers(3, false);
  EXPECT_EQ(both.forward, (Numbers{0, 1, 2}));
  EXPECT_EQ(both.backward, (Numbers{4, 3, 2})) << "phase 2 is both";
  EXPECT_EQ(both.describe(), "Phases run as 0–2 forward and 4–2 backward.");
  EXPECT_EQ(phaseNumbers(3, true).backward, (Numbers{6, 5, 4})) << "phase 3 is unused";
}

TEST(Phases, LeaveNumbersForLoadsAndStores) {
  // Q = largest + 1 + 3 if anything leaves the chip; a separate backward phase then adds nothing.
  EXPECT_EQ(phaseNumbers(3, false, PhaseLiveness::afterForward).backward, (Numbers{10, 9, 8}));
  EXPECT_EQ(phaseNumbers(3, true, PhaseLiveness::afterForward).backward, (Numbers{10, 9, 8}));
  const PhaseNumbers two = phaseNumbers(3, false, PhaseLiveness::afterForwardNoOverlap);
  EXPECT_EQ(two.forward, (Numbers{0, 2, 4}));
  EXPECT_EQ(two.backward, (Numbers{14, 12, 10}));
  const PhaseNumbers four = phaseNumbers(2, false, PhaseLiveness::afterEachPhase);
  EXPECT_EQ(four.forward, (Numbers{0, 4}));
  EXPECT_EQ(four.backward, (Numbers{14, 10}));
}

}  // namespace
}  // namespace pipescope::schedules
