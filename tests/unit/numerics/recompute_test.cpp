// Recomputed nodes are computed twice and give the same bits, including masks and stochastic rounding.
#include <gtest/gtest.h>

#include <set>

#include "engine/builders/builder.h"
#include "engine/compile/gradients.h"
#include "engine/compile/local_sums.h"
#include "engine/compile/precision.h"
#include "engine/compile/recompute.h"
#include "engine/compile/stage_division.h"
#include "engine/graph/validate.h"
#include "engine/ops/standard_operators.h"
#include "mnist_model.h"
#include "small_graphs.h"

namespace pipescope::numerics_test {
namespace {

struct RecomputeTrained {
  std::vector<float> losses;
  std::uint64_t weights = 0;
  std::int64_t arena = 0;
};

RecomputeTrained trainRecompute(const graph::Graph& graph, bool stochastic) {
  base::SerialExecutor serial;
  auto rule = optimizers::createOptimizer("adamw", {{"learning_rate", 0.01}});
  PIPESCOPE_CHECK(rule.ok(), rule.error().message);
  numerics::SessionOptions options;
  options.stochasticRounding = stochastic;
  auto session =
      numerics::Session::create(graph, ops::standardOperators(), std::move(rule).value(), serial, options);
  PIPESCOPE_CHECK(session.ok(), session.error().message);
  const std::vector<std::int32_t> tokens{1, 5, 2, 8, 1, 5, 2, 8, 3, 5, 2, 8, 1, 0, 2, 8},
      labels{0, 3, 0, 3, 0, 3, 0, 3};
  RecomputeTrained trained;
  numerics::Results results;
  for (int i = 0; i < 3; ++i) {
    const base::Status status =
        (*session)->trainStep({numerics::rowsOf(std::span(tokens)), numerics::rowsOf(std::span(labels))},
                              numerics::Keep::none, results);
    PIPESCOPE_CHECK(status.ok(), status.error().message);
    trained.losses.insert(trained.losses.end(), results.losses.begin(), results.losses.end());
  }
  trained.weights = (*session)->parameters().hash();
  trained.arena = (*session)->arenaBytes();
  return trained;
}

TEST(Recompute, GivesTheSameBits) {
  for (const bool half : {false, true}) {
    SCOPED_TRACE(half ? "float16, rounded at random" : "float32");
    graph::Graph forward = bertWithDropout(2);
    if (half)
      forward = *compile::withPrecision(forward, graph::ElementType::float16, ops::standardOperators());
    const auto graph = compile::addGradients(forward, ops::standardOperators());
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    std::vector<compile::StageSpec> asked;
    for (const std::string& block : compile::blocksOf(*graph)) asked.push_back({{block}, -1});
    const auto stages = compile::placeStages(*graph, asked);
    ASSERT_TRUE(stages.ok()) << stages.error().message;
    std::vector<bool> stashes(stages->size(), true);
    stashes.back() = false;
    const auto again = compile::withRecompute(*graph, *stages, stashes, {});
    ASSERT_TRUE(again.ok()) << again.error().message;
    ASSERT_TRUE(graph::validate(*again).ok());
    // Every stage except the last does its forward work twice, including dropout.
    std::size_t forwards = 0, recomputes = 0, masks = 0;
    for (const graph::Node& node : again->nodes()) {
      forwards += node.pass == model::Pass::forward && node.block != asked.back().blocks[0] ? 1 : 0;
      recomputes += node.pass == model::Pass::recompute ? 1 : 0;
      masks += node.pass == model::Pass::recompute && node.op == "Dropout" ? 1 : 0;
    }
    EXPECT_GT(recomputes, forwards / 2);
    EXPECT_LE(recomputes, forwards);
    EXPECT_GT(masks, 0u);
    const RecomputeTrained plain = trainRecompute(*graph, half), twice = trainRecompute(*again, half);
    EXPECT_EQ(twice.losses, plain.losses);
    EXPECT_EQ(twice.weights, plain.weights);
    EXPECT_LT(twice.arena, plain.arena) << "what is computed again need not be kept";
  }
}

/// Each stage adds up what it sends. The sums of one tensor are added in the same order as in one sum.
TEST(LocalSums, GiveTheSameBits) {
  const auto graph = compile::addGradients(bertWithDropout(2), ops::standardOperators());
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<compile::StageSpec> asked;
  for (const std::string& block : compile::blocksOf(*graph)) asked.push_back({{block}, -1});
  const compile::LocalSums sums = compile::withLocalSums(*graph, *compile::placeStages(*graph, asked));
  ASSERT_TRUE(sums.partial.empty());
  EXPECT_TRUE(graph::validate(sums.graph).ok());
  const RecomputeTrained plain = trainRecompute(*graph, false), local = trainRecompute(sums.graph, false);
  EXPECT_EQ(local.losses, plain.losses);
  EXPECT_EQ(local.weights, plain.weights);
}

TEST(Recompute, CheckpointsAreKept) {
  const graph::Graph graph = mnistTraining(4);
  const std::vector<compile::StageSpec> one = {{{"B1", "B2", "B3", "B4"}, 0}};
  const auto recomputedNodes = [&](const std::vector<bool>& stashes,
                                   const compile::Checkpoints& checkpoints) {
    const auto made = compile::withRecompute(graph, one, stashes, checkpoints);
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    std::set<std::string> names;
    for (const graph::Node& node : made->nodes()) {
      if (node.pass == model::Pass::recompute) names.insert(node.name);
    }
    return names;
  };
  EXPECT_TRUE(recomputedNodes({false}, {}).empty()) << "one micro-batch, no checkpoint: nothing";
  // Only what lies before the last checkpoint is recomputed. The checkpoint itself is kept.
  EXPECT_EQ(
      recomputedNodes({false}, {"layer2/conv"}),
      (std::set<std::string>{"layer1/conv/recompute", "layer1/pool/recompute", "layer1/relu/recompute"}));
  const std::set<std::string> all = recomputedNodes({true}, {});
  EXPECT_TRUE(all.contains("layer3/relu/recompute"));
  EXPECT_FALSE(recomputedNodes({true}, {"layer3/relu"}).contains("layer3/relu/recompute"));
  const auto refused = compile::withRecompute(graph, one, {true}, {"layer9"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("\"layer9\", but no operator of the model is called so"),
            std::string::npos);
}

}  // namespace
}  // namespace pipescope::numerics_test
