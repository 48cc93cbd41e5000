// Holds plans of models to all other splits, and to what a run of the configuration that is written takes.
#include "engine/plan/model_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "app/run/request/compile_run.h"
#include "app/run/request/configuration_keys.h"
#include "app/run/request/plan_request.h"

namespace pipescope::app {
namespace {

using config::Configuration;
using testing::HasSubstr;

Configuration parsed(const std::string& toml) {
  auto configuration = parseConfiguration(toml, "test.toml");
  EXPECT_TRUE(configuration.ok()) << configuration.error().message;
  return std::move(configuration).value();
}

/// A sample without its [[stages]], which stand between its layers and [execution].
std::string sampleText(const std::string& name, bool withStages) {
  std::ostringstream text;
  text << std::ifstream(PIPESCOPE_SOURCE_DIR "/samples/" + name + ".toml").rdbuf();
  std::string toml = text.str();
  if (withStages) return toml;
  const std::size_t first = toml.find("[[stages]]"), end = toml.find("[execution]");
  EXPECT_LT(first, end);
  return toml.erase(first, end - first);
}

base::Result<ConfigurationPlan> planned(const Configuration& configuration,
                                        const std::vector<std::string>& choices = {},
                                        const std::string& start = {}) {
  std::vector<PlanChoice> all;
  for (const std::string& text : choices) {
    PIPESCOPE_ASSIGN(PlanChoice choice, planChoice(text));
    all.push_back(std::move(choice));
  }
  base::SerialExecutor executor;
  base::SilentProgress progress;
  return planConfiguration(configuration, all, start, executor, progress);
}

ConfigurationPlan mustPlan(const Configuration& configuration, const std::vector<std::string>& choices = {}) {
  auto plan = planned(configuration, choices);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(plan).value();
}

/// What a run of the configuration does in a second.
double rateOf(const Configuration& configuration) {
  const auto compilation = compileRun(configuration);
  if (!compilation.ok()) return 0;
  return plan::tryOut(*compilation).samplesPerSecond;
}

void expectWrittenPlanRuns(const ConfigurationPlan& plan) {
  const std::string toml = plannedToml(plan, "source.toml");
  const Configuration written = parsed(toml);
  const auto compilation = compileRun(written);
  ASSERT_TRUE(compilation.ok()) << compilation.error().message << "\n" << toml;
  const plan::TriedPlan run = plan::tryOut(*compilation);
  EXPECT_EQ(run.samplesPerSecond, plan.best.plan.best.tried.samplesPerSecond) << toml;
  EXPECT_EQ(run.value.time, plan.best.plan.best.tried.value.time);
  EXPECT_EQ(run.value.missing, plan.best.plan.best.tried.value.missing);
}

constexpr const char* kOperators[] = {"layer1/pool",   "layer1/relu", "layer2/conv",
                                      "layer2/pool",   "layer2/relu", "layer3/flatten",
                                      "layer3/linear", "layer3/relu", "layer4/linear"};

// Every other split of the tutorial's network into two stages is no faster.
TEST(ModelPlan, IsTheBestOfAllSplitsOfTheTutorial) {
  const ConfigurationPlan plan = mustPlan(parsed(sampleText("mnist/two_stages", true)));
  ASSERT_TRUE(plan.present);
  EXPECT_TRUE(plan.best.plan.exact);
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

constexpr const char* kSmallBert = R"(
[model]
name = "bert"
builder = "bert"
layers = 4
hidden = 64
heads = 4
feed_forward = 256
sequence = 32
head = "squad"
[execution]
mode = "training"
numerics = false
[training]
micro_batch_size = 2
gradient_accumulation = 8
[data]
dataset = "synthetic"
[system]
name = "pod4"
)";

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

// What is left out of a search over many variants is never the best one.
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

TEST(ModelPlan, ChoosesTheNumberOfStagesForGivenDevices) {
  Configuration bert = parsed(kSmallBert);
  ASSERT_TRUE(bert.set("system.devices", std::int64_t{4}, config::Origin::flag).ok());
  const ConfigurationPlan plan = mustPlan(bert);
  EXPECT_EQ(plan.variants.size(), 3U);  // 4, 2 and 1 stages
  EXPECT_EQ(plan.best.plan.best.tried.devices, 4);
  EXPECT_TRUE(plan.errorBand);
  expectWrittenPlanRuns(plan);
}

// Where nobody says how many stages there are, the plan takes the whole system. Where nobody says how many
// micro-batches a weight update has, every variant has the same number, which fills the longest pipeline.
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

/// The tutorial's four stages, the first with little memory for temporaries.
std::string ownProportion() {
  std::string own = sampleText("mnist/pipelined", true);
  return own.replace(own.find("device = 0"), 10, "device = 0\navailable_memory_proportion = 0.001");
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

constexpr const char* kTwoStages = R"(
[[stages]]
blocks = ["embeddings", "encoder/layer0..1"]
[[stages]]
blocks = ["encoder/layer2..3", "head"]
)";

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

// With little memory, the plan keeps some results, and with much memory it computes nothing again.
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
  for (const compile::StagePlan& stage : compilation->executables.front().plan.stages)
    held += std::to_string(stage.device) + " ";
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
