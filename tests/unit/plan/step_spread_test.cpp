// Checks how often one plan is truly faster than another one.
#include <gtest/gtest.h>

#include <cmath>

#include "app/plan/step_spread.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {
namespace {

TEST(StepSpread, OrderIsSurerTheFurtherApartAndTheSmallerTheErrors) {
  EXPECT_DOUBLE_EQ(shareOfDrawsAhead(1, 0.1), 0.5);
  // Shares of a normal distribution below 1 and 1.2816 standard deviations.
  EXPECT_NEAR(shareOfDrawsAhead(std::exp(0.1), 0.1), 0.8413, 1e-4);
  EXPECT_NEAR(shareOfDrawsAhead(std::exp(0.12816), 0.1), 0.9, 1e-4);
  EXPECT_NEAR(shareOfDrawsAhead(std::exp(-0.1), 0.1), 0.1587, 1e-4);
  EXPECT_DOUBLE_EQ(shareOfDrawsAhead(1.01, 0), 1);
}

TEST(StepSpread, ComesFromComparedSteps) {
  const auto gaudi = devices::makeSystem("hls-gaudi2");
  ASSERT_TRUE(gaudi.ok());
  const auto training = stepSpread(**gaudi, true);
  ASSERT_TRUE(training);
  EXPECT_GT(*training, 0.01);
  EXPECT_LT(*training, 0.5);
  const auto unchecked = devices::makeSystem("dgx-b200");
  ASSERT_TRUE(unchecked.ok());
  EXPECT_FALSE(stepSpread(**unchecked, true)) << "no step was compared";
}

}  // namespace
}  // namespace pipescope::app
