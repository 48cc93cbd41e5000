// Holds plans of models to all other splits, and to what a run of the configuration that is written takes.
#include "engine/plan/model_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model_plan_fixture.h"

namespace pipescope::app {
namespace {

using testing::HasSubstr;

constexpr const char* kOperators[] = {"layer1/pool",   "layer1/relu", "layer2/conv",
                                      "layer2/pool",   "layer2/relu", "layer3/flatten",
                                      "layer3/linear", "layer3/relu", "layer4/linear"};

// Every other split of the tutorial's network into two stages is no faster.
TEST(ModelPlan, IsTheBestOfAllSplitsOfTheTutorial) {
  const ConfigurationPlan plan = mustPlan(parsed(sampleText("mnist/two_stages", true)));
  ASSERT_TRUE(plan.present);
  EXPECT_TRUE(plan.best.plan.exact);
  EXPECT_EQ(plan.best.plan.compiled, static_cast<std::int64_t>(std::size(kOperators)));
  EXPECT_GT(plan.best.plan.best.tried.samplesPerSecond, plan.present->samplesPerSecond);
  EXPECT_EQ(plan.present->samplesPerSecond, rateOf(parsed(sampleText("mnist/two_stages", true))));
  const Configuration plain = parsed(sampleText("mnist/two_stages", false));
  double best = 0;
  for (const char* name : kOperators) {
    Configuration cut = plain;
    ASSERT_TRUE(cut.set("execution.cuts", std::vector<std::string>{name}, config::Origin::flag).ok());
    best = std::max(best, rateOf(cut));
  }
  // Cuts between blocks are preferred to others that gain less than 0.3 %.
  EXPECT_LE(best, 1.003 * plan.best.plan.best.tried.samplesPerSecond);
  EXPECT_GE(best, plan.best.plan.best.tried.samplesPerSecond);
  expectWrittenPlanRuns(plan);
}

// The value of a plan counts each micro-batch with its own costs, as a run does.
TEST(ModelPlan, KnowsMicroBatchesThatDiffer) {
  const auto withCosts = [](const std::string& name, bool withStages) {
    Configuration c = parsed(sampleText(name, withStages));
    EXPECT_TRUE(c.setText("training.micro_batch_costs", "3, 0.25, 0.25, 0.25", config::Origin::flag).ok());
    return c;
  };
  const ConfigurationPlan plan = mustPlan(withCosts("mnist/two_stages", true));
  const Configuration plain = withCosts("mnist/two_stages", false);
  double best = 0;
  for (const char* name : kOperators) {
    Configuration cut = plain;
    ASSERT_TRUE(cut.set("execution.cuts", std::vector<std::string>{name}, config::Origin::flag).ok());
    best = std::max(best, rateOf(cut));
  }
  EXPECT_LE(best, 1.003 * plan.best.plan.best.tried.samplesPerSecond);
  EXPECT_GE(best, plan.best.plan.best.tried.samplesPerSecond);
  EXPECT_LT(best, rateOf(parsed(sampleText("mnist/two_stages", true))));  // one of them is long
  expectWrittenPlanRuns(plan);
}

// Two stages take most of the layers in the present plan. The best one is found without trying all splits.
TEST(ModelPlan, ImprovesABadSplitOfABuildersModel) {
  const std::string stages = R"(
[[stages]]
blocks = ["embeddings"]
[[stages]]
blocks = ["encoder/layer0"]
[[stages]]
blocks = ["encoder/layer1..3", "head"]
)";
  const Configuration bad = parsed(kSmallBert + stages);
  const ConfigurationPlan plan = mustPlan(bad);
  ASSERT_TRUE(plan.present);
  EXPECT_FALSE(plan.best.plan.exact);
  EXPECT_GT(plan.best.plan.best.tried.samplesPerSecond, 1.1 * plan.present->samplesPerSecond);
  EXPECT_EQ(plan.best.stages, 3);
  EXPECT_GT(plan.best.plan.balancedSamplesPerSecond, 0);
  EXPECT_TRUE(plan.errorBand);
  expectWrittenPlanRuns(plan);
}

// Variants that a search leaves out are never the best one.
TEST(ModelPlan, OfManyVariantsEqualsTheBestOfAllOneByOne) {
  const Configuration mnist = parsed(sampleText("mnist/pipelined", true));
  const ConfigurationPlan plan = mustPlan(
      mnist, {"stages=1,2,4", "strategy=pipelined,sharded", "micro_batch_size=5,20", "recompute=none,auto"});
  ASSERT_EQ(plan.variants.size(), 24U);
  double best = 0;
  for (const char* stages : {"1", "2", "4"}) {
    for (const char* strategy : {"pipelined", "sharded"}) {
      for (const char* size : {"5", "20"}) {
        for (const char* recompute : {"none", "auto"}) {
          const auto one = planned(
              mnist, {std::string("stages=") + stages, std::string("strategy=") + strategy,
                      std::string("micro_batch_size=") + size, std::string("recompute=") + recompute});
          if (one.ok() && one->best.plan.best.tried.value.missing == 0)
            best = std::max(best, one->best.plan.best.tried.samplesPerSecond);
        }
      }
    }
  }
  EXPECT_EQ(plan.best.plan.best.tried.samplesPerSecond, best);
  const auto isLeftOut = [](const VariantResult& each) { return each.refusal.starts_with("Not searched"); };
  EXPECT_TRUE(std::ranges::any_of(plan.variants, isLeftOut));
}

TEST(ModelPlan, StartsFromAPlanOfAnotherFramework) {
  const auto plan = planned(parsed(kSmallBert), {}, "Et|tttL");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->best.stages, 2);
  const double start = rateOf(parsed(std::string(kSmallBert) + R"(
[[stages]]
blocks = ["embeddings", "encoder/layer0"]
[[stages]]
blocks = ["encoder/layer1..3", "head"]
)"));
  EXPECT_GT(start, 0);
  EXPECT_GE(plan->best.plan.best.tried.samplesPerSecond, start);
  expectWrittenPlanRuns(*plan);
  const auto other = planned(parsed(kSmallBert), {}, "[0, 2, 9]");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("ascend from 0 to 6"));
}

TEST(ModelPlan, TakesThePlanThatLacksLeastIfNothingFits) {
  Configuration large = parsed(sampleText("mnist/two_stages", true));
  ASSERT_TRUE(large.set("training.micro_batch_size", std::int64_t{40'000}, config::Origin::flag).ok());
  const ConfigurationPlan plan = mustPlan(large);
  ASSERT_TRUE(plan.present);
  EXPECT_GT(plan.best.plan.best.tried.value.missing, 0);
  EXPECT_LE(plan.best.plan.best.tried.value.missing, plan.present->value.missing);
  EXPECT_FALSE(plan.best.plan.best.tried.overflow.empty());
  expectWrittenPlanRuns(plan);
}

/// A user who stops the search in the middle.
class StopsInTheMiddle : public base::Progress {
 public:
  void report(double fraction, std::string_view) override { stopped_ = stopped_ || fraction >= 0.5; }
  bool cancelled() const override { return stopped_; }

 private:
  bool stopped_ = false;
};

TEST(ModelPlan, KeepsTheBestPlanOfASearchThatIsStopped) {
  const std::vector<std::string> names = {"popart", "1f1b", "gpipe", "tf-grouped", "tf-sequential", "zb-h1"};
  base::SerialExecutor executor;
  StopsInTheMiddle progress;
  const auto plan = planConfiguration(parsed(sampleText("mnist/pipelined", true)),
                                      {{"execution.schedule", names}}, "", executor, progress);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE(plan->stoppedAfter);
  EXPECT_GT(*plan->stoppedAfter, 0u);
  EXPECT_LT(*plan->stoppedAfter, names.size());
  std::size_t stopped = 0;
  double best = 0;
  for (const VariantResult& variant : plan->variants) {
    if (variant.value) best = std::max(best, variant.samplesPerSecond);
    if (variant.refusal.find("the search was stopped") != std::string::npos) ++stopped;
  }
  EXPECT_EQ(stopped, names.size() - *plan->stoppedAfter);
  EXPECT_EQ(plan->best.plan.best.tried.samplesPerSecond, best);
}

std::string planRefusal(const Configuration& configuration, const std::vector<std::string>& choices = {}) {
  const auto plan = planned(configuration, choices);
  return plan.ok() ? "accepted" : plan.error().message;
}

TEST(ModelPlan, RefusesWhatCannotBePlanned) {
  const Configuration mnist = parsed(sampleText("mnist/pipelined", true));
  EXPECT_THAT(planRefusal(mnist, {"schedul"}), HasSubstr("there is no key of this name"));
  EXPECT_THAT(planRefusal(mnist, {"epochs"}), HasSubstr("--vary epochs needs values to try"));
  EXPECT_THAT(planRefusal(mnist, {"schedule=popart,"}), HasSubstr("needs values to try"));
  EXPECT_THAT(planRefusal(mnist, {"stages=0"}), HasSubstr("a whole number from 1 to 1024"));
  EXPECT_THAT(planRefusal(mnist, {"stages=5000"}), HasSubstr("a whole number from 1 to 1024"));
  EXPECT_THAT(planRefusal(mnist, {"schedule=nothing"}),
              HasSubstr("execution.schedule is \"nothing\", but it must be one of"));
  EXPECT_THAT(planRefusal(mnist, {"micro_batch_size=0"}), HasSubstr("--vary: training.micro_batch_size"));
  EXPECT_THAT(planRefusal(mnist, {"micro_batch_size=7,9"}), HasSubstr("None of the variants can run"));
  EXPECT_THAT(planRefusal(mnist, {"epochs=1..20", "seed=1..20", "threads=1..6"}),
              HasSubstr("a plan tries at most 2000"));
  EXPECT_THAT(planRefusal(mnist, {"strategy=serial_phased"}), HasSubstr("plan with another strategy"));
  EXPECT_THAT(
      planRefusal(mnist, {"micro_batch_size=7"}),
      HasSubstr("A weight update has 400 samples, which 1 replica with micro-batches of 7 cannot share"));
  EXPECT_THAT(planRefusal(parsed(sampleText("fixed/imbalanced", true))), HasSubstr("nothing to divide"));
  EXPECT_THAT(planRefusal(mnist, {"stages.available_memory_proportion=2"}), HasSubstr("is no proportion"));
  EXPECT_THAT(planRefusal(parsed(ownProportion()), {"stages=2"}),
              HasSubstr("to single ones of its 4 stages"));
}

// The split that counts blocks is compared with the plan as it would run.
TEST(ModelPlan, TellsWhatEquallyManyBlocksWouldMake) {
  const Configuration bert = parsed(std::string(kSmallBert) + kTwoStages);
  const ConfigurationPlan plan = mustPlan(bert);
  ASSERT_TRUE(plan.best.plan.equalBlocks);
  EXPECT_EQ(plan.best.plan.equalBlocks->samplesPerSecond, rateOf(bert));  // three blocks in each
  EXPECT_GE(plan.best.plan.best.tried.samplesPerSecond, rateOf(bert) / 1.003);
}

// Megatron and torchtitan keep what is around the numbered layers in the first and the last stage.
TEST(ModelPlan, CutsAroundNumberedBlocksOnlyIfAsked) {
  const Configuration bert = parsed(std::string(kSmallBert) + kTwoStages);
  base::SerialExecutor executor;
  base::SilentProgress progress;
  const auto plan = planConfiguration(bert, {{"execution.stages", {"6"}}}, {}, executor, progress,
                                      plan::CutLevel::numberedBlocks);
  ASSERT_FALSE(plan.ok());  // pod4 has four devices
  for (const char* stages : {"2", "3"}) {
    const auto fewer = planConfiguration(bert, {{"execution.stages", {stages}}}, {}, executor, progress,
                                         plan::CutLevel::numberedBlocks);
    ASSERT_TRUE(fewer.ok()) << fewer.error().message;
    const auto& blocks = fewer->best.plan.best.blocks;
    ASSERT_FALSE(blocks.empty());
    EXPECT_EQ(blocks.front().front(), "embeddings");
    EXPECT_EQ(blocks.back().back(), "head");
  }
}

TEST(ModelPlan, RefusesAStartOnOtherDevicesThanTheSchedules) {
  const Configuration bert = parsed(kSmallBert);
  const std::string start = "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et|t|t|tL";
  const auto refused = planned(bert, {}, start);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              HasSubstr("puts 4 stages on 2 devices, 2 on each, but schedule popart puts 1 there"));
  Configuration interleaved = bert;
  ASSERT_TRUE(interleaved.setText("execution.schedule", "interleaved-1f1b", config::Origin::flag).ok());
  const auto plan = planned(interleaved, {}, start);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->best.stages, 4);
  EXPECT_EQ(plan->best.plan.best.tried.devices, 2);
}

// Frameworks that divide models by layers want no cut within one.
TEST(ModelPlan, CutsBetweenBlocksOnlyIfAsked) {
  const Configuration bert = parsed(std::string(kSmallBert) + R"(
[[stages]]
blocks = ["embeddings"]
[[stages]]
blocks = ["encoder/layer0..3", "head"]
)");
  base::SerialExecutor executor;
  base::SilentProgress progress;
  const auto plan = planConfiguration(bert, {}, {}, executor, progress, plan::CutLevel::blocks);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_EQ(plan->best.plan.best.blocks.size(), 2U);
  double best = 0;
  const std::vector<std::string> blocks{"embeddings",     "encoder/layer0", "encoder/layer1",
                                        "encoder/layer2", "encoder/layer3", "head"};
  for (std::size_t cut = 1; cut < blocks.size(); ++cut) {
    std::string stages[2];
    for (std::size_t b = 0; b < blocks.size(); ++b) stages[b < cut ? 0 : 1] += "\"" + blocks[b] + "\", ";
    best = std::max(best, rateOf(parsed(std::string(kSmallBert) + "[[stages]]\nblocks = [" + stages[0] +
                                        "]\n[[stages]]\nblocks = [" + stages[1] + "]\n")));
  }
  EXPECT_EQ(plan->best.plan.best.tried.samplesPerSecond, best);
  Configuration many = bert;
  ASSERT_TRUE(many.set("system.name", std::string("pod16"), config::Origin::flag).ok());
  ASSERT_TRUE(many.setText("training.gradient_accumulation", "16", config::Origin::flag).ok());
  const auto refused =
      planConfiguration(many, {{"execution.stages", {"8"}}}, {}, executor, progress, plan::CutLevel::blocks);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("fewer than the 8 stages"));
}

std::string cutRefusal(std::vector<std::string> cuts, const std::string& more = {}) {
  Configuration cut = parsed(sampleText("mnist/pipelined", false) + more);
  EXPECT_TRUE(cut.set("execution.cuts", std::move(cuts), config::Origin::flag).ok());
  const auto compilation = compileRun(cut);
  return compilation.ok() ? "accepted" : compilation.error().message;
}

std::string cutDevicesRefusal(std::vector<std::string> cuts, std::vector<std::int64_t> devices) {
  Configuration cut = parsed(sampleText("mnist/pipelined", false));
  EXPECT_TRUE(cut.set("execution.cuts", std::move(cuts), config::Origin::flag).ok());
  EXPECT_TRUE(cut.set("execution.cut_devices", std::move(devices), config::Origin::flag).ok());
  const auto compilation = compileRun(cut);
  if (!compilation.ok()) return compilation.error().message;
  std::string held;
  for (const compile::StageIr& stage : compilation->executables.front().ir.stages)
    held += std::to_string(stage.place) + " ";
  return held;
}

TEST(Cuts, ADeviceMayHoldSeveralOfTheirStages) {
  EXPECT_EQ(cutDevicesRefusal({"layer2/conv", "layer3/linear"}, {0, 1, 0}), "0 1 0 ");
  EXPECT_EQ(cutDevicesRefusal({"layer2/conv", "layer3/linear"}, {}), "0 1 2 ");
  EXPECT_THAT(cutDevicesRefusal({"layer2/conv", "layer3/linear"}, {0}),
              HasSubstr("execution.cut_devices names 1 device, but execution.cuts makes 3 stages"));
  EXPECT_THAT(cutDevicesRefusal({}, {0, 1}), HasSubstr("execution.cut_devices belongs to execution.cuts"));
}

TEST(Cuts, AreRefusedWhereNoStageCanBegin) {
  EXPECT_EQ(cutRefusal({"layer2/conv", "layer3/linear"}), "accepted");
  EXPECT_THAT(cutRefusal({"layer9"}),
              HasSubstr("execution.cuts names layer9, but the model has no operator"));
  EXPECT_THAT(cutRefusal({"layer3/linear", "layer2/conv"}), HasSubstr("does not come later in the model"));
  EXPECT_THAT(cutRefusal({"layer2/conv", "layer2/conv"}), HasSubstr("does not come later in the model"));
  EXPECT_THAT(cutRefusal({"layer2/conv"}, "[[stages]]\nblocks = [\"B1\"]\n"),
              HasSubstr("execution.cuts and [[stages]] both say what the stages are"));
  Configuration both = parsed(sampleText("mnist/pipelined", false));
  ASSERT_TRUE(both.set("execution.cuts", std::vector<std::string>{"layer2/conv"}, config::Origin::flag).ok());
  ASSERT_TRUE(both.set("execution.stages", std::int64_t{2}, config::Origin::flag).ok());
  EXPECT_THAT(compileRun(both).error().message, HasSubstr("execution.cuts and execution.stages both say"));
}

}  // namespace
}  // namespace pipescope::app
