// Checks the errors of step times that plans are compared with.
#include <gtest/gtest.h>

#include "app/plan/step_spread.h"
#include "engine/devices/system_registry.h"

namespace pipescope::app {
namespace {

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
