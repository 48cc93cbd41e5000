#include "engine/compile/block_pattern.h"

#include <gtest/gtest.h>

#include "engine/builders/builder.h"
#include "engine/compile/stage_division.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

using Names = std::vector<std::string>;

TEST(BlockPattern, NamesItselfWhatIsBelowRangesAndText) {
  EXPECT_TRUE(namesBlock("B1", "B1"));
  EXPECT_FALSE(namesBlock("B1", "B12"));
  EXPECT_TRUE(namesBlock("encoder", "encoder/layer0"));
  EXPECT_FALSE(namesBlock("encoder", "encoders/layer0"));
  EXPECT_TRUE(namesBlock("encoder/layer0..5", "encoder/layer5"));
  EXPECT_TRUE(namesBlock("encoder/layer0..5", "encoder/layer3/attention"));
  EXPECT_FALSE(namesBlock("encoder/layer0..5", "encoder/layer6"));
  EXPECT_FALSE(namesBlock("encoder/layer0..5", "encoder/layer55"));
  EXPECT_FALSE(namesBlock("encoder/layer0..5", "encoder/layer"));
  EXPECT_TRUE(namesBlock("layer8..12/block0", "layer10/block0"));
  EXPECT_TRUE(namesBlock("*/attention", "encoder/layer3/attention"));
  EXPECT_TRUE(namesBlock("*", "anything/at/all"));
  EXPECT_TRUE(namesBlock("Conv_*", "Conv_12"));
  EXPECT_FALSE(namesBlock("Conv_*", "Gemm_12"));
  EXPECT_FALSE(namesBlock("", "B1"));
}

TEST(BlockPattern, ChoosesInTheModelsOrder) {
  const Names blocks{"stem", "layer1/block0", "layer1/block1", "layer2/block0", "head"};
  EXPECT_EQ(blocksNamed("layer1", blocks), (Names{"layer1/block0", "layer1/block1"}));
  EXPECT_EQ(blocksNamed("layer1..2/block0", blocks), (Names{"layer1/block0", "layer2/block0"}));
  EXPECT_EQ(blocksNamed("tail", blocks), Names{});
}

TEST(BlocksByLayers, CountsLayersAndTakesTheRestAlong) {
  const Names blocks{"embeddings", "layer0", "layer1", "norm", "layer2", "head"};
  const auto stages = blocksByLayers(blocks, {1, 2});
  ASSERT_TRUE(stages.ok()) << stages.error().message;
  EXPECT_EQ(*stages, (std::vector<Names>{{"embeddings", "layer0"}, {"layer1", "norm", "layer2", "head"}}));
  EXPECT_EQ(blocksByLayers(blocks, {1, 1}).error().message,
            "execution.layers_per_stage is [1, 1], 2 layers in all, but the model has 3: give every stage at "
            "least one, "
            "and all of them a stage.");
  EXPECT_FALSE(blocksByLayers(blocks, {0, 3}).ok());
}

TEST(Placement, TakesPatterns) {
  const auto graph =
      builders::buildModel({"bert", {{"layers", std::int64_t{4}}}, 1, true}, ops::standardOperators());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto place = [&](const std::vector<StageSpec>& asked) { return placeStages(*graph, asked); };
  const auto stages = place({{{"embeddings", "encoder/layer0..1"}, -1}, {{"encoder/layer2..3", "head"}, -1}});
  ASSERT_TRUE(stages.ok()) << stages.error().message;
  EXPECT_EQ((*stages)[0].blocks, (Names{"embeddings", "encoder/layer0", "encoder/layer1"}));
  // The patterns of one stage may overlap. Those of different stages may not.
  EXPECT_TRUE(place({{{"embeddings", "encoder/layer0", "encoder/layer0..1"}, -1},
                     {{"encoder/layer2..3", "head"}, -1}})
                  .ok());
  EXPECT_EQ(
      place({{{"embeddings", "encoder/layer0..2"}, -1}, {{"encoder/layer2..3", "head"}, -1}}).error().message,
      "Block \"encoder/layer2\" is in stage 0 and in stage 1: a block belongs to one stage only.");
  EXPECT_NE(place({{{"*"}, -1}, {{"decoder"}, -1}}).error().message.find("names block \"decoder\""),
            std::string::npos);
}

}  // namespace
}  // namespace pipescope::compile
