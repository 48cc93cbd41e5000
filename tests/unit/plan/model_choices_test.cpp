// Tests the choices of a plan beside the split: keys, the number of stages and replicas, results that are
// kept, and settings of single stages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model_plan_fixture.h"

namespace pipescope::app {
namespace {

using testing::HasSubstr;

TEST(ModelPlan, VariesAKeyInARange) {
  const auto choice = planChoice("micro_batch_size=1..16*4");
  ASSERT_TRUE(choice.ok());
  const std::vector<std::string> expected{"1", "4", "16"};
  EXPECT_EQ(choice->values, expected);
}

TEST(ModelPlan, ChoosesWhatTheUserLetsItChoose) {
  const Configuration mnist = parsed(sampleText("mnist/pipelined", true));
  const ConfigurationPlan plan = mustPlan(mnist, {"stages=1,2", "strategy"});
  EXPECT_EQ(plan.variants.size(), 4U);
  ASSERT_TRUE(plan.present);
  EXPECT_GT(plan.best.plan.best.tried.samplesPerSecond, plan.present->samplesPerSecond);
  // The samples of a weight update stay the same: 40 · 10 in the tutorial.
  const plan::TriedPlan& best = plan.best.plan.best.tried;
  EXPECT_EQ(best.microBatchSize * best.microBatches * best.replicas, 400);
  expectWrittenPlanRuns(plan);
  ASSERT_TRUE(plan.runnerUp);
  // Cuts between blocks are preferred to others that gain less than 0.3 %.
  EXPECT_LE(plan.runnerUp->samplesPerSecond, 1.003 * best.samplesPerSecond);
}

// The default schedule needs more micro-batches for four stages, which another schedule does not.
TEST(ModelPlan, KeepsTheStagesWhereThePresentPlanCannotRun) {
  Configuration bert = parsed(kSmallBert);
  ASSERT_TRUE(bert.set("execution.stages", std::int64_t{4}, config::Origin::file).ok());
  ASSERT_TRUE(bert.set("training.gradient_accumulation", std::int64_t{3}, config::Origin::file).ok());
  const ConfigurationPlan plan = mustPlan(bert, {"schedule=1f1b"});
  EXPECT_FALSE(plan.present);
  ASSERT_EQ(plan.variants.size(), 1U);
  EXPECT_EQ(plan.variants.front().stages, 4);
  expectWrittenPlanRuns(plan);
}

TEST(ModelPlan, ChoosesTheNumberOfStagesForGivenDevices) {
  Configuration bert = parsed(kSmallBert);
  ASSERT_TRUE(bert.set("system.devices", std::int64_t{4}, config::Origin::flag).ok());
  const ConfigurationPlan plan = mustPlan(bert);
  EXPECT_EQ(plan.variants.size(), 3U);  // 4, 2 and 1 stages
  EXPECT_EQ(plan.best.plan.best.tried.devices, 4);
  EXPECT_TRUE(plan.errorBand);
  expectWrittenPlanRuns(plan);
}

// The plan takes the whole system where nobody says how many stages there are. Every variant has the same
// number of micro-batches, which fills the longest pipeline, where nobody says how many a weight update has.
TEST(ModelPlan, ChoosesTheNumberOfStagesIfNobodySaysIt) {
  std::string toml = kSmallBert;
  const std::string count = "gradient_accumulation = 8\n";
  toml.erase(toml.find(count), count.size());
  toml.replace(toml.find("layers = 4"), 10, "layers = 2");
  for (const bool alsoInfers : {false, true}) {
    const std::string mode = alsoInfers ? "all" : "training";
    Configuration bert = parsed(toml);
    ASSERT_TRUE(bert.setText("execution.mode", mode, config::Origin::flag).ok());
    const ConfigurationPlan plan = mustPlan(bert);
    EXPECT_TRUE(plan.microBatchesChosen);
    ASSERT_EQ(plan.variants.size(), 3U);
    for (const VariantResult& variant : plan.variants) {
      EXPECT_TRUE(variant.value) << variant.stages << " stages: " << variant.refusal;
      std::int64_t replicas = 1, microBatches = 1;
      for (const auto& [key, value] : variant.settings) {
        if (key == "training.replication_factor") replicas = std::stoll(value);
        if (key == "training.gradient_accumulation") microBatches = std::stoll(value);
      }
      EXPECT_EQ(replicas * variant.stages, 4) << variant.stages << " stages";
      EXPECT_EQ(replicas * microBatches, 8) << variant.stages << " stages";
    }
    ASSERT_TRUE(plan.present);
    EXPECT_EQ(plan.present->stages.size(), 1U);
    EXPECT_EQ(plan.best.plan.best.tried.devices, 4);
    expectWrittenPlanRuns(plan);
  }
}

// The file fixes two samples for a micro-batch, which nobody else says.
TEST(ModelPlan, CountsTheSamplesThatAnOnnxModelFixes) {
  Configuration encoder = parsed("");
  for (const auto& [key, value] : {std::pair("model.onnx", PIPESCOPE_SOURCE_DIR
                                             "/tests/conformance/onnx/data/encoder_opset12/model.onnx"),
                                   {"execution.mode", "training"},
                                   {"system.name", "pod4"},
                                   {"system.devices", "4"},
                                   {"training.gradient_accumulation", "8"},
                                   {"training.replication_factor", "1"}})
    ASSERT_TRUE(encoder.setText(key, value, config::Origin::flag).ok()) << key;
  const ConfigurationPlan plan = mustPlan(encoder);
  for (const VariantResult& variant : plan.variants) {
    std::int64_t replicas = 1, microBatches = 8;
    for (const auto& [key, value] : variant.settings) {
      if (key == "training.replication_factor") replicas = std::stoll(value);
      if (key == "training.gradient_accumulation") microBatches = std::stoll(value);
    }
    EXPECT_EQ(replicas * microBatches, 8) << variant.stages << " stages";
  }
}

// A schedule with two stages on each device gets twice as many, so that it uses as many devices as others.
// Its devices then hold parts of the model that do not follow one another.
TEST(ModelPlan, GivesSchedulesWithChunksSeveralStagesOnADevice) {
  Configuration bert = parsed(std::string(kSmallBert) + R"(
[[stages]]
blocks = ["embeddings", "encoder/layer0..1"]
[[stages]]
blocks = ["encoder/layer2..3", "head"]
)");
  const ConfigurationPlan plan = mustPlan(bert, {"schedule=interleaved-1f1b,zb-v"});
  for (const VariantResult& variant : plan.variants) {
    EXPECT_EQ(variant.stages, 4) << variant.refusal;
    EXPECT_TRUE(variant.value || variant.refusal.starts_with("Not searched")) << variant.refusal;
  }
  EXPECT_EQ(plan.best.plan.best.tried.devices, 2);
  EXPECT_EQ(plan.best.plan.best.tried.stages.size(), 4U);
  expectWrittenPlanRuns(plan);
}

/// The last forward operator of each block but the last one.
std::vector<std::string> endsOfBlocks(const Configuration& configuration) {
  const auto compilation = compileRun(configuration);
  EXPECT_TRUE(compilation.ok()) << compilation.error().message;
  std::map<std::string, std::string> last;
  std::vector<std::string> blocks;
  for (const graph::Node& node : compilation->executables.front().graph->nodes()) {
    if (node.pass != model::Pass::forward) continue;
    if (!last.contains(node.block)) blocks.push_back(node.block);
    last[node.block] = node.name;
  }
  std::vector<std::string> ends;
  for (const std::string& block : blocks) ends.push_back(last[block]);
  ends.pop_back();
  return ends;
}

// No other choice of the blocks' results needs less memory, or is faster with as little.

TEST(ModelPlan, ChoosesWhichResultsAreKept) {
  Configuration tight = parsed(std::string(kSmallBert) + kTwoStages);
  base::SerialExecutor executor;
  base::SilentProgress progress;
  for (const char* batch : {"2", "3072"}) {
    ASSERT_TRUE(tight.setText("training.micro_batch_size", batch, config::Origin::flag).ok());
    const auto plan = planConfiguration(tight, {*planChoice("checkpoints")}, {}, executor, progress,
                                        plan::CutLevel::blocks);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    expectWrittenPlanRuns(*plan);
    Configuration changed = parsed(plannedToml(*plan, "source.toml"));
    const std::vector<std::string> ends = endsOfBlocks(changed);
    ASSERT_EQ(ends.size(), 5U);
    std::set<std::int64_t> different;
    for (unsigned subset = 0; subset < 1U << ends.size(); ++subset) {
      std::vector<std::string> kept;
      for (std::size_t i = 0; i < ends.size(); ++i)
        if ((subset >> i & 1U) != 0) kept.push_back(ends[i]);
      ASSERT_TRUE(changed.set("execution.recompute", std::string("auto"), config::Origin::flag).ok());
      ASSERT_TRUE(changed.set("execution.checkpoints", kept, config::Origin::flag).ok());
      const auto compilation = compileRun(changed);
      ASSERT_TRUE(compilation.ok()) << compilation.error().message;
      const plan::Value value = plan::tryOut(*compilation).value;
      EXPECT_GE(value, plan->best.plan.best.tried.value) << subset;
      different.insert(value.missing);
    }
    if (std::string(batch) == "3072") {
      EXPECT_GT(different.size(), 1U) << "the choice changes the memory that is missing";
    }
  }
}

// The plan keeps some results with little memory, and computes nothing again with much memory.
TEST(ModelPlan, ComparesCheckpointsWithOtherWaysToRecompute) {
  const ConfigurationPlan plan = mustPlan(parsed(sampleText("mnist/two_stages", true)), {"recompute"});
  std::set<std::string> kept;
  for (const VariantResult& variant : plan.variants) {
    for (const auto& [key, value] : variant.settings)
      if (key == "execution.checkpoints") kept.insert(value);
    EXPECT_TRUE(variant.value || variant.refusal.starts_with("Not searched")) << variant.refusal;
  }
  EXPECT_EQ(kept.size(), 2U) << "all blocks, or every second one";
  ASSERT_TRUE(plan.runnerUp);
  EXPECT_LE(plan.runnerUp->samplesPerSecond, plan.best.plan.best.tried.samplesPerSecond);
  expectWrittenPlanRuns(plan);
}

// The runner-up has its own choice for each stage, too, so that the two can be compared.
TEST(ModelPlan, GivesTheRunnerUpItsOwnProportions) {
  Configuration tight = parsed(sampleText("mnist/pipelined", true));
  ASSERT_TRUE(tight.setText("execution.available_memory_proportion", "0.001", config::Origin::flag).ok());
  const ConfigurationPlan plan =
      mustPlan(tight, {"stages.available_memory_proportion=0.001,0.6", "strategy=pipelined,sharded"});
  ASSERT_TRUE(plan.runnerUp);
  EXPECT_THAT(plan.runnerUpSettings,
              testing::Contains(testing::Key(HasSubstr("available_memory_proportion"))));
  EXPECT_LE(plan.runnerUp->samplesPerSecond, plan.best.plan.best.tried.samplesPerSecond);
  expectWrittenPlanRuns(plan);
}

// [[stages]] may give settings to single stages. A plan with as many stages keeps them.
TEST(ModelPlan, KeepsSettingsOfSingleStages) {
  const ConfigurationPlan plan = mustPlan(parsed(ownProportion()));
  ASSERT_FALSE(plan.best.proportions.empty());
  EXPECT_EQ(plan.best.proportions.front(), "0.001");
  const std::string toml = plannedToml(plan, "source.toml");
  EXPECT_THAT(toml, HasSubstr("available_memory_proportion = 0.001"));
  expectWrittenPlanRuns(plan);
  // The setting has an effect: with so little memory for temporaries, a convolution takes another plan.
  EXPECT_NE(plan.best.plan.best.tried.samplesPerSecond,
            mustPlan(parsed(sampleText("mnist/pipelined", true))).best.plan.best.tried.samplesPerSecond);
}

TEST(ModelPlan, ChoosesAProportionForEachStage) {
  Configuration tight = parsed(sampleText("mnist/pipelined", true));
  ASSERT_TRUE(tight.setText("execution.available_memory_proportion", "0.001", config::Origin::flag).ok());
  const ConfigurationPlan before = mustPlan(tight);
  const ConfigurationPlan plan = mustPlan(tight, {"stages.available_memory_proportion=0.001,0.6"});
  EXPECT_GT(plan.best.plan.best.tried.samplesPerSecond, before.best.plan.best.tried.samplesPerSecond);
  EXPECT_THAT(plan.best.proportions, testing::Contains("0.6"));
  EXPECT_THAT(plan.best.settings, testing::Contains(testing::Key(HasSubstr("available_memory_proportion"))));
  expectWrittenPlanRuns(plan);
}

}  // namespace
}  // namespace pipescope::app
