// The replicas, micro-batches and iterations that follow from the choices of a plan.
#include "app/plan/plan_variants.h"

#include <gtest/gtest.h>

#include "tests/unit/plan/model_plan_fixture.h"

namespace pipescope::app {
namespace {

Configuration decoder(const std::string& more) {
  return parsed(R"(
[model]
builder = "decoder"
layers = 8
hidden = 64
heads = 4
feed_forward = 128
vocabulary = 256
sequence = 64
[data]
dataset = "synthetic"
[system]
name = "hls-gaudi2"
)" + more);
}

/// The settings that follow for these stages where a plan chooses them for all eight cards.
std::vector<PlanSetting> settingsFor(const std::string& more, int stages) {
  const Configuration given = decoder(more);
  const std::vector<PlanChoice> choices;
  const std::optional<plan::TriedPlan> present;
  const std::vector<compile::StageRequest> start;
  Variant variant;
  variant.stages = stages;
  const auto configuration = configurationOf(variant, {given, choices, present, start, 8});
  EXPECT_TRUE(configuration.ok()) << (configuration.ok() ? "" : configuration.error().message);
  std::ranges::sort(variant.settings);
  return variant.settings;
}

using Settings = std::vector<PlanSetting>;

TEST(PlanVariants, InferenceFillsItsPipelineWithTwoMicroBatchesADevice) {
  const std::string inference = "[execution]\nmode = \"inference\"\n";
  EXPECT_EQ(settingsFor(inference, 4),
            (Settings{{"inference.device_iterations", "8"}, {"inference.replication_factor", "2"}}));
  EXPECT_EQ(settingsFor(inference, 8), (Settings{{"inference.device_iterations", "16"}}));
  // One device has no pipeline, and what the user states stays.
  EXPECT_EQ(settingsFor(inference, 1), (Settings{{"inference.replication_factor", "8"}}));
  EXPECT_EQ(settingsFor(inference + "[inference]\ndevice_iterations = 3\n", 8), Settings());
}

TEST(PlanVariants, TrainingFillsItsPipelineWithTwoMicroBatchesADevice) {
  const std::string training = "[execution]\nmode = \"training\"\n";
  // Two micro-batches for each of eight devices, which two replicas share.
  EXPECT_EQ(settingsFor(training, 4),
            (Settings{{"training.gradient_accumulation", "8"}, {"training.replication_factor", "2"}}));
  EXPECT_EQ(settingsFor(training + "[training]\ngradient_accumulation = 6\n", 8), Settings());
}

}  // namespace
}  // namespace pipescope::app
