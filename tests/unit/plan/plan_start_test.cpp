// Holds layouts of Megatron and parts of DeepSpeed to the stages that their documentation says they mean.
#include "app/plan/plan_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipescope::app {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kBlocks{"embeddings",     "encoder/layer0", "encoder/layer1", "encoder/layer2",
                                       "encoder/layer3", "encoder/layer4", "encoder/layer5", "head"};

/// The numbers of blocks of the stages; empty: refused.
std::vector<std::size_t> sizesOf(const std::string& start) {
  const auto plan = readStartPlan(start, kBlocks);
  std::vector<std::size_t> sizes;
  if (!plan.ok()) return sizes;
  std::vector<std::string> all;
  for (const compile::StageRequest& stage : plan->stages) {
    sizes.push_back(stage.blocks.size());
    all.insert(all.end(), stage.blocks.begin(), stage.blocks.end());
  }
  EXPECT_EQ(all, kBlocks);
  return sizes;
}

std::string startRefusal(const std::string& start) {
  const auto plan = readStartPlan(start, kBlocks);
  return plan.ok() ? "accepted" : plan.error().message;
}

using Sizes = std::vector<std::size_t>;

TEST(PlanStart, ReadsMegatronsLayout) {
  EXPECT_EQ(sizesOf("Ett|tt|ttL"), (Sizes{3, 2, 3}));
  EXPECT_EQ(sizesOf("Et*2|t*2|t*2,L"), (Sizes{3, 2, 3}));
  EXPECT_EQ(sizesOf("E(tt|)*2 ttL"), (Sizes{3, 2, 3}));
  EXPECT_EQ(sizesOf("E|(t|)*6L"), (Sizes{1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(sizesOf("E((t)*2|)*3L"), (Sizes{3, 2, 2, 1}));
}

TEST(PlanStart, ReadsDeepSpeedsParts) {
  EXPECT_EQ(sizesOf("[0, 3, 5, 8]"), (Sizes{3, 2, 3}));
  EXPECT_EQ(sizesOf("0,8"), (Sizes{8}));
}

// A line may come from a command line, a shell script, a program, or from what `plan --write` prints.
TEST(PlanStart, ReadsLinesAsTheyAreCopied) {
  EXPECT_EQ(sizesOf("--pipeline-model-parallel-layout \"Ett|tt|ttL\""), (Sizes{3, 2, 3}));
  EXPECT_EQ(sizesOf("    --pipeline-model-parallel-layout='Ett|tt|ttL' \\"), (Sizes{3, 2, 3}));
  EXPECT_EQ(sizesOf("--pipeline-model-parallel-layout \"'Ett|tt|ttL'\" --swiglu"), (Sizes{3, 2, 3}));
  EXPECT_EQ(sizesOf("pipeline_model_parallel_layout: Ett|tt|ttL"), (Sizes{3, 2, 3}));
  EXPECT_EQ(sizesOf("\"Ett|tt|ttL\""), (Sizes{3, 2, 3}));
  const std::string printed =
      "--pipeline-model-parallel-size 3\n--pipeline-model-parallel-layout \"Ett|tt|ttL\"\n";
  EXPECT_EQ(sizesOf(printed), (Sizes{3, 2, 3}));
  const auto plan = readStartPlan(printed, kBlocks);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->devices, 3U);
  EXPECT_EQ(sizesOf("# The layers are: a, b.\nself.parts = [0, 3, 5, 8]\n"), (Sizes{3, 2, 3}));
  EXPECT_EQ(sizesOf("parts=[0, 3, 5, 8],"), (Sizes{3, 2, 3}));
  EXPECT_EQ(
      sizesOf("# Layers: a, b.\nclass P(PipelineModule):\n    def _partition_layers(self, method):\n"
              "        self.parts = [0, 3, 5, 8]\n        self._set_bounds(self.parts[0], self.parts[1])\n"),
      (Sizes{3, 2, 3}));
}

TEST(PlanStart, RefusesWhatIsNoPlanOfTheModel) {
  EXPECT_THAT(startRefusal(" "), HasSubstr("it is empty"));
  EXPECT_THAT(startRefusal("Ett|ttL"),
              HasSubstr("it has 4 layers, but the model has 6 blocks with a number"));
  EXPECT_THAT(startRefusal("Ett|tt|tt"), HasSubstr("the L for what follows the layers is missing"));
  EXPECT_THAT(startRefusal("tt|tt|ttL"), HasSubstr("'t' stands where the model has other blocks"));
  EXPECT_THAT(startRefusal("Ett|EttttL"), HasSubstr("'E' stands where"));
  EXPECT_THAT(startRefusal("EttL|tttt"), HasSubstr("'L' stands where"));
  EXPECT_THAT(startRefusal("Ett||ttttL"), HasSubstr("a stage has no block"));
  EXPECT_THAT(startRefusal("Ett|tt|ttLm"), HasSubstr("multi-token prediction"));
  EXPECT_THAT(startRefusal("Eab"), HasSubstr("'a' is no part of a layout"));
  EXPECT_THAT(startRefusal("E(tt|"), HasSubstr("a bracket is not closed"));
  EXPECT_THAT(startRefusal("Ett)tt"), HasSubstr("a bracket is closed that was not opened"));
  EXPECT_THAT(startRefusal("((((((((((t"), HasSubstr("nested too deeply"));
  EXPECT_THAT(startRefusal("Et*x"), HasSubstr("a number of repetitions must follow"));
  EXPECT_THAT(startRefusal("E(t*90000)*90000"), HasSubstr("more than 100000 parts"));
  EXPECT_THAT(startRefusal("[0, 3, 9]"), HasSubstr("the numbers must ascend from 0 to 8"));
  EXPECT_THAT(startRefusal("[1, 8]"), HasSubstr("must ascend"));
  EXPECT_THAT(startRefusal("[0, 3, 3, 8]"), HasSubstr("must ascend"));
  EXPECT_THAT(startRefusal("[0, three]"), HasSubstr("it is no list of numbers"));
  EXPECT_THAT(startRefusal("# only a comment"), HasSubstr("it is empty"));
  EXPECT_THAT(startRefusal("--pipeline-model-parallel-size two --pipeline-model-parallel-layout Ett|tt|ttL"),
              HasSubstr("--pipeline-model-parallel-size must be the number of devices"));
  EXPECT_THAT(startRefusal("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Ett|tt|ttL"),
              HasSubstr("2 devices cannot hold 3 stages in equal numbers"));
}

}  // namespace
}  // namespace pipescope::app
