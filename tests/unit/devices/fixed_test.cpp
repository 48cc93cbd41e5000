// Systems with given costs.
#include <gtest/gtest.h>

#include <map>

#include "engine/compile/plan.h"
#include "engine/devices/fixed/fixed_system.h"

namespace pipescope::devices {
namespace {

/// Ticks of each pass of a stage with these costs, with two replicas.
std::map<model::Pass, std::int64_t> passesOf(const FixedStageCost& cost, int replicas) {
  FixedCosts costs;
  costs.stages = {cost};
  costs.collective = 7;
  compile::StagePlan stage;
  stage.mesh.replicas = replicas;
  const auto lowered = makeFixedSystem(costs, replicas)->lower({&stage});
  EXPECT_TRUE(lowered.ok());
  std::map<model::Pass, std::int64_t> ticks;
  for (const LoweredPass& pass : lowered->passes) {
    for (const LoweredSegment& segment : pass.segments)
      ticks[pass.pass] += segment.ticks.count / kFixedTicksPerUnit;
  }
  return ticks;
}

TEST(FixedSystem, ReplicasSumGradientsAndOnlyThese) {
  using model::Pass;
  using Passes = std::map<Pass, std::int64_t>;
  EXPECT_EQ(passesOf({.forward = 1, .backward = 2, .update = 3}, 2),
            (Passes{{Pass::forward, 1}, {Pass::backward, 2}, {Pass::collective, 7}, {Pass::update, 3}}));
  EXPECT_EQ(passesOf({.forward = 1, .backward = 2}, 1), (Passes{{Pass::forward, 1}, {Pass::backward, 2}}));
  EXPECT_EQ(passesOf({.forward = 1}, 2), (Passes{{Pass::forward, 1}})) << "inference has no gradients";
}

}  // namespace
}  // namespace pipescope::devices
