// Tests plans over all dimensions against all combinations, and that what they write runs as planned.
#include "app/plan/dimension_plan.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "app/plan/plan_variants.h"
#include "tests/unit/plan/model_plan_fixture.h"

namespace pipescope::app {
namespace {

using testing::HasSubstr;

/// A decoder that needs no long compilations, for `system`.
Configuration smallDecoder(const std::string& system, const std::string& more = "") {
  return parsed(R"(
[model]
builder = "decoder"
layers = 6
hidden = 64
heads = 4
feed_forward = 128
vocabulary = 256
sequence = 64
[data]
dataset = "synthetic"
[system]
name = ")" + system +
                "\"\n" + more);
}

base::Result<DimensionPlan> dimensions(const Configuration& configuration, const DimensionRequest& request) {
  base::SerialExecutor executor;
  base::SilentProgress progress;
  return planDimensions(configuration, request, executor, progress);
}

DimensionPlan mustPlanDimensions(const Configuration& configuration, const DimensionRequest& request) {
  auto plan = dimensions(configuration, request);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(plan).value();
}

/// The best of a search with bounds must be the best of all combinations, in value and settings.
DimensionPlan expectBestOfAll(const Configuration& configuration, DimensionRequest request) {
  request.most = 100'000;
  const DimensionPlan plan = mustPlanDimensions(configuration, request);
  request.everything = true;
  const DimensionPlan all = mustPlanDimensions(configuration, request);
  EXPECT_TRUE(plan.proven);
  EXPECT_EQ(plan.combinations, all.combinations);
  EXPECT_EQ(all.proposals.size() + all.refused, all.combinations);
  const DimensionProposal &best = plan.proposals.front(), &least = all.proposals.front();
  EXPECT_EQ(best.split.tried.value, least.split.tried.value);
  EXPECT_EQ(best.split.tried.samplesPerSecond, least.split.tried.samplesPerSecond);
  EXPECT_EQ(best.settings, least.settings);
  EXPECT_EQ(best.split.blocks, least.split.blocks);
  return plan;
}

TEST(DimensionPlanTest, EqualsBruteForceOnGaudis) {
  DimensionRequest request;
  request.samples = 8;
  request.choices = {{"execution.schedule", {"1f1b", "interleaved-1f1b"}},
                     {"training.micro_batch_size", {"1"}},
                     {"execution.recompute", {"none", "pipeline"}}};
  const DimensionPlan plan = expectBestOfAll(smallDecoder("hls-gaudi2:4"), request);
  EXPECT_GT(plan.combinations, 50U);
  expectWrittenPlanRuns(asConfigurationPlan(plan.proposals.front()));
}

/// The bounds hold where places have copies of a weight, and plans with such stages run.
TEST(DimensionPlanTest, SplitsTiedModelsOnCards) {
  DimensionRequest request;
  request.samples = 8;
  request.choices = {{"execution.schedule", {"1f1b"}},
                     {"training.micro_batch_size", {"1"}},
                     {"execution.zero", {""}},
                     {"execution.recompute", {"none"}}};
  Configuration tied = smallDecoder("hls-gaudi2:4");
  ASSERT_TRUE(tied.setText("model.tie_embeddings", "true", config::Origin::flag).ok());
  const DimensionPlan plan = expectBestOfAll(tied, request);
  EXPECT_EQ(plan.refused, 0U) << plan.firstRefusal;
  const auto split = std::ranges::find_if(plan.proposals, [](const DimensionProposal& proposal) {
    return proposal.split.tried.stages.size() > 1;
  });
  ASSERT_NE(split, plan.proposals.end());
  expectWrittenPlanRuns(asConfigurationPlan(*split));
}

TEST(DimensionPlanTest, EqualsBruteForceOnIpus) {
  DimensionRequest request;
  request.samples = 8;
  request.choices = {{"execution.schedule", {"popart"}},
                     {"training.micro_batch_size", {"1"}},
                     {"execution.zero", {"", "1"}},
                     {"execution.recompute", {"none", "pipeline"}},
                     {"execution.sequence_parallel", {""}}};
  const DimensionPlan plan = expectBestOfAll(smallDecoder("pod4"), request);
  expectWrittenPlanRuns(asConfigurationPlan(plan.proposals.front()));
}

TEST(DimensionPlanTest, EqualsBruteForceInInference) {
  DimensionRequest request;
  request.samples = 16;
  const DimensionPlan plan =
      expectBestOfAll(smallDecoder("hls-gaudi2:4", "[execution]\nmode = \"inference\"\n"), request);
  EXPECT_FALSE(plan.training);
  expectWrittenPlanRuns(asConfigurationPlan(plan.proposals.front()));
}

/// One token for each of eight samples: every micro-batch reads the weights once, so one large micro-batch on
/// all ranks is several times as fast as small ones.
TEST(DimensionPlanTest, ChoosesMicroBatchesOfInference) {
  DimensionRequest request;
  request.samples = 8;
  Configuration decodes = smallDecoder("hls-gaudi2:4", "[execution]\nmode = \"inference\"\n");
  for (const auto& [key, value] : {std::pair("model.phase", "decode"),
                                   {"model.cache", "64"},
                                   {"model.hidden", "2048"},
                                   {"model.heads", "16"},
                                   {"model.feed_forward", "8192"}})
    ASSERT_TRUE(decodes.setText(key, value, config::Origin::flag).ok()) << key;
  const DimensionPlan plan = mustPlanDimensions(decodes, request);
  const DimensionProposal& best = plan.proposals.front();
  EXPECT_EQ(best.split.tried.microBatches, 1);
  EXPECT_EQ(best.split.tried.microBatchSize * best.replicas, 8);
  expectWrittenPlanRuns(asConfigurationPlan(best));
}

/// Every proposal takes all chips and all samples, and each runs as it is written.
TEST(DimensionPlanTest, EveryProposalRunsAsPlanned) {
  DimensionRequest request;
  request.samples = 16;
  request.most = 8;
  const DimensionPlan plan = mustPlanDimensions(smallDecoder("hls-gaudi2"), request);
  EXPECT_GE(plan.proposals.size(), 5U);
  EXPECT_EQ(plan.proven, plan.left == 0);
  for (const DimensionProposal& each : plan.proposals) {
    const plan::TriedPlan& tried = each.split.tried;
    EXPECT_EQ(each.tensor * each.places * each.replicas, 8);
    EXPECT_EQ(tried.microBatches * tried.microBatchSize * each.replicas, 16);
    expectWrittenPlanRuns(asConfigurationPlan(each));
  }
  EXPECT_TRUE(std::ranges::is_sorted(plan.proposals, {},
                                     [](const DimensionProposal& each) { return each.split.tried.value; }));
}

TEST(DimensionPlanTest, FixesWhatIsStated) {
  DimensionRequest request;
  request.samples = 16;
  request.most = 4;
  request.fixed = {{"execution.stages", "2"}};
  const DimensionPlan plan = mustPlanDimensions(
      smallDecoder("hls-gaudi2", "[execution]\ntensor_parallel = 2\nshard_optimizer = true\n"), request);
  for (const DimensionProposal& each : plan.proposals) {
    EXPECT_EQ(each.tensor, 2);
    EXPECT_EQ(each.places, 2);
    EXPECT_EQ(each.replicas, 2);
  }
  const std::vector<PlanSetting> fixed{
      {"execution.tensor_parallel", "2"}, {"execution.stages", "2"}, {"execution.zero", "0"}};
  EXPECT_EQ(plan.fixed, fixed);
}

TEST(DimensionPlanTest, StatedReplicasLeaveTheOtherChipsToTheAxes) {
  DimensionRequest request;
  request.samples = 16;
  request.most = 1;
  request.fixed = {
      {"training.replication_factor", "2"}, {"execution.tensor_parallel", "4"}, {"execution.stages", "1"}};
  EXPECT_EQ(mustPlanDimensions(smallDecoder("hls-gaudi2"), request).proposals.front().replicas, 2);
  // With two places there are chips for one replica only.
  request.fixed["execution.stages"] = "2";
  const auto tooMany = dimensions(smallDecoder("hls-gaudi2"), request);
  ASSERT_FALSE(tooMany.ok());
  EXPECT_THAT(
      tooMany.error().message,
      HasSubstr("No combination of the dimensions divides 8 chips and 16 samples of a weight update"));
}

TEST(DimensionPlanTest, KeepsSamplesOfAnUpdate) {
  DimensionRequest request;
  request.most = 4;
  const DimensionPlan plan = mustPlanDimensions(
      smallDecoder("hls-gaudi2:2", "[training]\nmicro_batch_size = 2\ngradient_accumulation = 6\n"), request);
  EXPECT_TRUE(plan.samplesGiven);
  EXPECT_EQ(plan.samples, 12);
  for (const DimensionProposal& each : plan.proposals) {
    EXPECT_EQ(each.split.tried.microBatchSize, 2);
    EXPECT_EQ(each.split.tried.microBatches * 2 * each.replicas, 12);
  }
}

TEST(DimensionPlanTest, TriesEveryMicroBatchThatDividesTheSamples) {
  DimensionRequest request;
  request.everything = true;
  request.fixed = {{"execution.tensor_parallel", "1"},
                   {"execution.stages", "1"},
                   {"execution.recompute", "none"},
                   {"execution.zero", ""}};
  const auto sizesOf = [&](std::int64_t samples, bool larger) {
    request.samples = samples;
    const DimensionPlan plan = mustPlanDimensions(smallDecoder("hls-gaudi2:2"), request);
    EXPECT_EQ(plan.largerMicroBatches, larger) << samples;
    std::vector<std::int64_t> sizes;
    for (const DimensionProposal& each : plan.proposals) sizes.push_back(each.split.tried.microBatchSize);
    std::ranges::sort(sizes);
    return sizes;
  };
  EXPECT_EQ(sizesOf(24, false), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(sizesOf(68, true), (std::vector<std::int64_t>{1, 2, 17})) << "34 at once would do, too";
}

TEST(DimensionPlanTest, SaysWhyNothingDivides) {
  DimensionRequest request;
  request.fixed = {{"execution.stages", "3"}};
  const auto plan = dimensions(smallDecoder("hls-gaudi2"), request);
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(
      plan.error().message,
      HasSubstr("No combination of the dimensions divides 8 chips and 16 samples of a weight update"));
}

/// DeepSpeed's pipelines take ZeRO stage 1 at most, Megatron shares out the optimizer's state only.
TEST(DimensionPlanTest, PlansWhatTheFrameworkHasWordsFor) {
  DimensionRequest request;
  request.samples = 8;
  request.everything = true;
  request.choices = {{"execution.tensor_parallel", {"1"}},
                     {"training.micro_batch_size", {"1"}},
                     {"execution.recompute", {"none"}},
                     {"execution.sequence_parallel", {""}}};
  for (const char* framework : {"megatron", "deepspeed"}) {
    request.framework = framework;
    request.level =
        std::string(framework) == "megatron" ? plan::CutLevel::numberedBlocks : plan::CutLevel::blocks;
    const DimensionPlan plan = mustPlanDimensions(smallDecoder("hls-gaudi2:4"), request);
    bool third = false;
    for (const DimensionProposal& each : plan.proposals) {
      const auto zero = std::ranges::find(each.settings, "execution.zero", &PlanSetting::first);
      const std::string stage = zero == each.settings.end() ? "" : zero->second;
      third = third || stage == "3";
      EXPECT_TRUE(each.places == 1 || stage.empty() || stage == "1") << framework << " " << stage;
    }
    EXPECT_EQ(third, std::string(framework) == "deepspeed");
  }
}

/// execution.zero says in one number what three keys say.
TEST(ZeroStageTest, ExpandsToTheKeysOfShares) {
  const std::pair<int, std::vector<bool>> stages[] = {
      {1, {true, false, false}}, {2, {true, true, false}}, {3, {true, true, true}}};
  for (const auto& [stage, shares] : stages) {
    const Configuration c = parsed("[execution]\nzero = " + std::to_string(stage) + "\n");
    const auto resolved = resolvedConfiguration(c);
    ASSERT_TRUE(resolved.ok());
    EXPECT_EQ(resolved->boolean("execution.shard_optimizer"), shares[0]);
    EXPECT_EQ(resolved->boolean("execution.shard_accumulators"), shares[1]);
    EXPECT_EQ(resolved->boolean("execution.shard_weights"), shares[2]);
  }
}

TEST(ZeroStageTest, RefusesContradictions) {
  const auto refusal = [](const std::string& execution) {
    const auto resolved = resolvedConfiguration(parsed("[execution]\n" + execution));
    return resolved.ok() ? "" : resolved.error().message;
  };
  EXPECT_EQ(refusal("zero = 1\nshard_weights = true\n"),
            "execution.zero is 1, which does not share out the weights, but execution.shard_weights is true: "
            "leave one of them out.");
  EXPECT_EQ(refusal("zero = 2\nshard_optimizer = false\n"),
            "execution.zero is 2, which shares out the optimizer's state, but execution.shard_optimizer is "
            "false: leave one of them out.");
  EXPECT_EQ(refusal("zero = 2\nshard_optimizer = true\n"), "");
}

}  // namespace
}  // namespace pipescope::app
