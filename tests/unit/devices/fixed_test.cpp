// Systems with given costs.
#include <gtest/gtest.h>

#include <map>

#include "engine/compile/ir.h"
#include "engine/devices/fixed/fixed_system.h"

namespace pipescope::devices {
namespace {

/// Ticks of each pass of a stage with these costs, with two replicas.
std::map<model::Pass, std::int64_t> passesOf(const FixedStageCost& cost, int replicas) {
  FixedCosts costs;
  costs.stages = {cost};
  costs.collective = 7;
  compile::StageIr stage;
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

/// Two stages on devices of their own, and a third one beside the second.
TEST(FixedSystem, PassesTakeTheirLaunchAndReceiveWhatComesFromAnotherDevice) {
  FixedCosts costs;
  costs.stages = {
      {.forward = 10, .backward = 20}, {.forward = 10, .backward = 20}, {.forward = 10, .backward = 20}};
  costs.launch = 1;
  costs.receive = 3;
  compile::StageIr one, two;
  one.index = 1;
  two.index = 2;
  const auto lowered = makeFixedSystem(costs, 2)->lower({&one, &two}).value();
  std::map<std::pair<int, model::Pass>, std::int64_t> ticks;
  for (const LoweredPass& pass : lowered.passes)
    ticks[{pass.stage, pass.pass}] = pass.ticks().count / kFixedTicksPerUnit;
  using model::Pass;
  EXPECT_EQ((ticks[{1, Pass::forward}]), 14) << "its input comes from stage 0";
  EXPECT_EQ((ticks[{1, Pass::backward}]), 21) << "its gradient comes from the stage beside it";
  EXPECT_EQ((ticks[{2, Pass::forward}]), 11);
  EXPECT_EQ((ticks[{2, Pass::backward}]), 21) << "nothing comes back to the last stage";
}

TEST(FixedSystem, WeightGradientsOfTheirOwnAreLaunchedWhereThereAreAny) {
  FixedCosts costs;
  costs.stages = {{.forward = 10, .backward = 20, .weight = 8}, {.forward = 10, .backward = 20}};
  costs.launch = 1;
  costs.splitBackward = true;
  compile::StageIr one, two;
  two.index = 1;
  const auto lowered = makeFixedSystem(costs, 1)->lower({&one, &two}).value();
  std::map<std::pair<int, model::Pass>, std::int64_t> ticks;
  for (const LoweredPass& pass : lowered.passes)
    ticks[{pass.stage, pass.pass}] = pass.ticks().count / kFixedTicksPerUnit;
  using model::Pass;
  EXPECT_EQ((ticks[{0, Pass::backward}]), 13) << "launched, without the weight gradient";
  EXPECT_EQ((ticks[{0, Pass::weightGradient}]), 9);
  EXPECT_EQ((ticks[{1, Pass::backward}]), 21);
  EXPECT_EQ((ticks[{1, Pass::weightGradient}]), 0) << "nothing to launch";
}

TEST(FixedSystem, NothingIsReceivedFromAnotherPipeOrFromNowhere) {
  FixedCosts costs;
  costs.stages = {{.forward = 10, .backward = 20},
                  {.forward = 10, .backward = 20},
                  {.forward = 10, .backward = 20},
                  {.forward = 10, .backward = 20}};
  costs.pipes = 2;  // stages 0 and 1, and 2 and 3
  costs.receive = 3;
  const auto forwardOf = [&](int index) {
    compile::StageIr stage;
    stage.index = index;
    std::map<model::Pass, std::int64_t> ticks;
    for (const LoweredPass& pass : makeFixedSystem(costs, 4)->lower({&stage}).value().passes)
      ticks[pass.pass] = pass.ticks().count / kFixedTicksPerUnit;
    return std::pair(ticks[model::Pass::forward], ticks[model::Pass::backward]);
  };
  EXPECT_EQ(forwardOf(0), (std::pair<std::int64_t, std::int64_t>(10, 23)));
  EXPECT_EQ(forwardOf(1), (std::pair<std::int64_t, std::int64_t>(13, 20)));
  EXPECT_EQ(forwardOf(2), (std::pair<std::int64_t, std::int64_t>(10, 23)));
  EXPECT_EQ(forwardOf(3), (std::pair<std::int64_t, std::int64_t>(13, 20)));
}

TEST(FixedSystem, CopiesTakeTimeForTheirBytesOnlyWhereABandwidthIsStated) {
  FixedCosts costs;
  costs.stages = {{.forward = 1}, {.forward = 1}};
  costs.exchange = 3;
  const std::vector<Flow> flows = {{0, 1, base::Bytes(100)}, {1, 0, base::Bytes(0)}};
  const auto units = [&] {
    std::vector<std::int64_t> taken;
    for (const base::Ticks ticks : makeFixedSystem(costs, 2)->transferTicks(flows))
      taken.push_back(ticks.count / kFixedTicksPerUnit);
    return taken;
  };
  EXPECT_EQ(units(), (std::vector<std::int64_t>{3, 3}));
  costs.bandwidth = 20;
  EXPECT_EQ(units(), (std::vector<std::int64_t>{8, 3}));
}

TEST(FixedSystem, HoldsWhatItsStagesSay) {
  FixedCosts costs;
  constexpr std::int64_t kMib = 1 << 20;
  costs.stages = {{.forward = 1, .holds = 100 * kMib, .stashed = 30 * kMib},
                  {.forward = 1, .holds = 50 * kMib}};
  costs.memory = 150 * kMib;
  compile::StageIr first, second;
  second.index = 1;
  const auto system = makeFixedSystem(costs, 1);
  ASSERT_EQ(system->devices()[0].memory.size(), 1U);
  EXPECT_EQ(system->devices()[0].memory[0].bytesPerUnit.count, 150 * kMib);
  const auto lowered = system->lower({&first, &second}).value();
  ASSERT_EQ(lowered.memory.size(), 1U);
  std::int64_t sum = 0;
  for (const LoweredVariable& variable : lowered.memory[0].variables) sum += variable.bytes.count;
  EXPECT_EQ(sum, 180 * kMib);
  ASSERT_EQ(lowered.memory[0].overflow.size(), 1U);
  const std::string& text = lowered.memory[0].overflow[0];
  EXPECT_TRUE(text.starts_with("Device 0 needs 180") && text.find("but fixed.memory is 150") != text.npos)
      << text;
  EXPECT_TRUE(makeFixedSystem({}, 1)->devices()[0].memory.empty());
}

}  // namespace
}  // namespace pipescope::devices
