// Tests phases of several stages: on which devices the stages run, and which configurations are refused.
#include <gmock/gmock.h>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"

namespace pipescope::app {
namespace {

/// A model of six layers. Each argument gives the keys of one stage, such as "phase = 0\ndevice = 2".
base::Result<compile::Compilation> sixStages(const std::string& strategy,
                                             const std::vector<std::string>& stages) {
  std::string text =
      "[model]\nname = \"m\"\ninput = [8]\n[execution]\nnumerics = false\nmode = \"training\"\nstrategy = "
      "\"" +
      strategy + "\"\n";
  for (std::size_t i = 0; i < 6; ++i) {
    const std::string name = "l" + std::to_string(i);
    text += "[[model.layers]]\ntype = \"linear\"\nname = \"" + name + "\"\nblock = \"" + name +
            "\"\nout_features = 8\n";
  }
  for (std::size_t i = 0; i < stages.size(); ++i)
    text += "[[stages]]\nblocks = [\"l" + std::to_string(i) + "\"]\n" + stages[i] + "\n";
  const auto parsed = app::parseConfiguration(text, "m.toml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return compileRun(*parsed);
}

TEST(Phases, GroupsOfDevicesAlternate) {
  const std::vector<std::string> three{"phase = 0", "phase = 0", "phase = 1",
                                       "phase = 1", "phase = 2", "phase = 2"};
  const auto devicesOf = [](const base::Result<compile::Compilation>& made) {
    EXPECT_TRUE(made.ok()) << made.error().message;
    std::vector<int> devices;
    for (const compile::StageIr& stage : made->executables.front().ir.stages) devices.push_back(stage.place);
    return devices;
  };
  // Execution semantics §1.5: phase 0 on IPUs 0, 2; phase 1 on 1, 3; phase 2 on 0, 2 again.
  EXPECT_EQ(devicesOf(sixStages("parallel_phased", three)), (std::vector<int>{0, 2, 1, 3, 0, 2}));
  EXPECT_EQ(devicesOf(sixStages("serial_phased", three)), (std::vector<int>{0, 1, 0, 1, 0, 1}));
  const auto made = sixStages("parallel_phased", three);
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(made->notices, ::testing::Contains("Phases run as 0–2 forward and 4–2 backward."));
  // The backward pass of the last phase follows its forward pass at once. Both of its stages therefore
  // store no activations off the chip.
  const auto stores = [](const compile::StageIr& stage) {
    return std::any_of(stage.tensors.begin(), stage.tensors.end(), [](const compile::IrTensor& tensor) {
      return tensor.remote && tensor.use == compile::TensorUse::stash;
    });
  };
  const auto& stages = made->executables.front().ir.stages;
  for (std::size_t s = 0; s < stages.size(); ++s) EXPECT_EQ(stores(stages[s]), s < 4) << s;
}

TEST(Phases, ReturnToADeviceWhereAllStagesNameTheirs) {
  const auto made = sixStages("parallel_phased",
                              {"phase = 0\ndevice = 0", "phase = 0\ndevice = 2", "phase = 0\ndevice = 0",
                               "phase = 0\ndevice = 2", "phase = 1\ndevice = 1", "phase = 2\ndevice = 2"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(made->notices, ::testing::Contains("Phases run as 0–2 forward and 4–2 backward."));
  std::vector<int> devices;
  for (const compile::StageIr& stage : made->executables.front().ir.stages) devices.push_back(stage.place);
  EXPECT_EQ(devices, (std::vector<int>{0, 2, 0, 2, 1, 2}));
}

TEST(Phases, ThatCannotBeAreRefused) {
  const auto refused = [](const std::string& strategy, const std::vector<std::string>& stages) {
    const auto made = sixStages(strategy, stages);
    EXPECT_FALSE(made.ok());
    return made.ok() ? "" : made.error().message;
  };
  const std::string p = "parallel_phased";
  EXPECT_EQ(
      refused("sharded", {"phase = 0", "", "", "", "", ""}),
      "stages[].phase belongs to the phased strategies, but execution.strategy is sharded: leave it out.");
  EXPECT_EQ(refused(p, {"phase = 0", "", "", "", "", ""}),
            "stages[].phase is given for 1 of 6 stages: give it for all, or for none.");
  EXPECT_EQ(refused(p, {"phase = 0", "phase = 0", "phase = 0", "phase = 2", "phase = 2", "phase = 2"}),
            "Stage 3 is in phase 2 after one in phase 0: phases count up from 0, and their stages follow "
            "each other.");
  EXPECT_EQ(refused(p, {"phase = 0", "phase = 0", "phase = 0", "phase = 0", "phase = 1", "phase = 1"}),
            "Phase 1 has 2 stages, but phase 0 has 4: all phases have equally many.");
  EXPECT_EQ(refused(p, {"phase = 0\ndevice = 2", "phase = 0\ndevice = 2", "phase = 1", "phase = 1",
                        "phase = 2", "phase = 2"}),
            "Phase 0 has two stages on device 2: its stages are on devices of their own.");
  EXPECT_NE(
      refused(p, {"phase = 0", "phase = 0", "phase = 1\ndevice = 0", "phase = 1", "phase = 2", "phase = 2"})
          .find("Phase 1 is on device 0: with parallel_phased"),
      std::string::npos);
  EXPECT_EQ(refused("serial_phased", {"phase = 0\ndevice = 2", "phase = 0", "phase = 1", "phase = 1",
                                      "phase = 2", "phase = 2"}),
            "Phase 0 is on device 2, but with serial_phased all phases take turns on devices 0 to 1: leave "
            "the device "
            "out.");
}

}  // namespace
}  // namespace pipescope::app
