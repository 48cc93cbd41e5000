// Tests that ranks that divide experts, each with samples of its own, compute what replicas with all experts
// compute: losses and gradients. It also checks the loads of ranks against closed forms (parallelism, §6).
#include <gtest/gtest.h>

#include "tests/unit/sharding/mesh_proof.h"

namespace pipescope::compile {
namespace {

Settings drawnMixture(Draw& draw, std::int64_t experts) {
  Settings settings{{"layers", draw.pick({1, 2})},
                    {"hidden", std::int64_t{8}},
                    {"heads", std::int64_t{2}},
                    {"feed_forward", draw.pick({4, 8})},
                    {"experts", experts},
                    {"experts_per_token", std::min(experts, draw.pick({1, 2, 3}))},
                    {"shared_experts", draw.pick({0, 1})},
                    {"sequence", draw.pick({2, 4, 6})},
                    {"vocabulary", std::int64_t{12}},
                    {"norm", std::string(draw.coin() ? "rms" : "layer")},
                    {"activation", std::string(draw.coin() ? "silu" : "gelu")},
                    {"gated", draw.coin()},
                    {"router_scores", std::string(draw.coin() ? "softmax" : "sigmoid")},
                    {"router_normalised", draw.coin()}};
  if (draw.coin()) settings["expert_capacity"] = 0.75;
  if (draw.coin()) settings["dense_layers"] = std::int64_t{1}, settings["layers"] = std::int64_t{2};
  return settings;
}

class DrawnMixtures : public ::testing::TestWithParam<unsigned> {};

TEST_P(DrawnMixtures, AreWhatReplicasCompute) {
  for (unsigned i = 0; i < 8; ++i) {
    Draw draw(GetParam() * 8 + i);
    const std::int64_t ranks = draw.pick({2, 4}), experts = ranks * draw.pick({1, 2});
    const graph::Graph model = modelOf("decoder", drawnMixture(draw, experts), draw.pick({1, 2}));
    if (HasFailure()) return;
    proveMesh(model, {{.ranks = ranks, .axis = MeshAxis::expert}}, i, 12,
              "draw " + std::to_string(draw.seed()));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Forty, DrawnMixtures, ::testing::Range(0U, 5U));

/// Two all-to-alls of tokens · choices · width, forward and backward, in each layer with experts.
TEST(ExpertRanks, ExchangeTheRowsOfTokensTwice) {
  constexpr std::int64_t kTokens = 8, kWidth = 8, kChoices = 2;
  const graph::Graph model = modelOf("decoder",
                                     {{"layers", std::int64_t{3}},
                                      {"dense_layers", std::int64_t{1}},
                                      {"hidden", kWidth},
                                      {"heads", std::int64_t{2}},
                                      {"feed_forward", std::int64_t{4}},
                                      {"experts", std::int64_t{4}},
                                      {"experts_per_token", kChoices},
                                      {"sequence", kTokens},
                                      {"vocabulary", std::int64_t{12}}},
                                     1);
  const auto division = divideGraph(model, {.ranks = 4, .axis = model::MeshAxis::expert});
  ASSERT_TRUE(division.ok()) << division.error().message;
  const auto ofRank = graphOfRank(model, *division, ops::standardOperators());
  ASSERT_TRUE(ofRank.ok()) << ofRank.error().message;
  const auto trained = addGradients(*ofRank, ops::standardOperators());
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  std::int64_t forward = 0, backward = 0;
  for (const graph::Node& node : trained->nodes()) {
    if (!node.op.starts_with("Rank")) continue;
    const auto work = ops::workOf(*trained, node, ops::standardOperators());
    ASSERT_TRUE(work.ok());
    for (const ops::Work& each : *work) {
      const auto* collective = std::get_if<ops::Collective>(&each.item);
      if (collective == nullptr) continue;
      EXPECT_EQ(collective->kind, ops::Collective::Kind::allToAll) << node.name;
      EXPECT_EQ(collective->axis, model::MeshAxis::expert) << node.name;
      EXPECT_EQ(collective->experts.experts, 4) << node.name << ": devices learn how tokens choose";
      EXPECT_EQ(collective->experts.perToken, kChoices) << node.name;
      (node.pass == model::Pass::forward ? forward : backward) += collective->elements;
    }
  }
  EXPECT_EQ(forward, 2 * 2 * kTokens * kChoices * kWidth);
  EXPECT_EQ(backward, forward);
}

/// Ranks that divide every expert sum what a layer makes of its tokens, as they do without experts: 2 sums of
/// b·s·h forward and 2 backward a layer (parallelism, §1); the routing weights add sums of tokens · choices.
TEST(ExpertRanks, SumTokensAndNotRowsOfExperts) {
  constexpr std::int64_t kTokens = 8, kWidth = 8, kChoices = 2, kLayers = 2;
  const graph::Graph model = modelOf("decoder",
                                     {{"layers", kLayers},
                                      {"hidden", kWidth},
                                      {"heads", std::int64_t{2}},
                                      {"feed_forward", std::int64_t{4}},
                                      {"experts", std::int64_t{4}},
                                      {"experts_per_token", kChoices},
                                      {"sequence", kTokens},
                                      {"vocabulary", std::int64_t{12}}},
                                     1);
  const auto division = divideGraph(model, {.ranks = 2});
  ASSERT_TRUE(division.ok()) << division.error().message;
  const auto ofRank = graphOfRank(model, *division, ops::standardOperators());
  ASSERT_TRUE(ofRank.ok()) << ofRank.error().message;
  const auto trained = addGradients(*ofRank, ops::standardOperators());
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  std::map<std::int64_t, std::int64_t> sums;  // by elements
  for (const graph::Node& node : trained->nodes())
    if (node.op == "RankSum") ++sums[trained->tensor(node.inputs[0]).type.elements()];
  EXPECT_EQ(sums[kTokens * kWidth], 4 * kLayers + 1) << "one more for the input of the scores";
  EXPECT_EQ(sums[kTokens * kChoices], kLayers);
  EXPECT_EQ(sums[kTokens * kChoices * kWidth], 0);
}

/// Tensor ranks divide every expert by columns and rows also when they divide the rows between products
/// (Megatron-LM: experts take tensor ranks unless told otherwise).
TEST(ExpertRanks, AreDividedWithSequenceParallelism) {
  for (const bool gated : {false, true}) {
    const graph::Graph model = modelOf("decoder",
                                       {{"layers", std::int64_t{1}},
                                        {"hidden", std::int64_t{8}},
                                        {"heads", std::int64_t{2}},
                                        {"feed_forward", std::int64_t{4}},
                                        {"gated", gated},
                                        {"experts", std::int64_t{4}},
                                        {"experts_per_token", std::int64_t{2}},
                                        {"sequence", std::int64_t{4}},
                                        {"vocabulary", std::int64_t{12}}},
                                       2);
    const auto division = divideGraph(model, {.ranks = 2, .sequence = true});
    ASSERT_TRUE(division.ok()) << division.error().message;
    const auto axisOf = [&](const char* weight) {
      return division->of(
          sharding_test::tensorNamed(model, std::string("decoder/layer0/mixture/experts/") + weight)->id);
    };
    EXPECT_EQ(axisOf("up/weight"), 1);
    EXPECT_EQ(axisOf("down/weight"), 2);
    if (gated) {
      EXPECT_EQ(axisOf("gate/weight"), 1);
    }
    proveMesh(model,
              {{.ranks = 2, .sequence = true, .leastTableRows = 1}, {.ranks = 2, .axis = MeshAxis::expert}},
              3, 12, gated ? "gated" : "plain");
  }
}

/// One expert with x times the share of each other (parallelism, §6).
TEST(ExpertLoads, AreThoseOfTheClosedForm) {
  const auto imbalance = [](std::int64_t experts, std::int64_t ranks, double hot) {
    ExpertLoad load;
    load.weights.assign(static_cast<std::size_t>(experts), 1.0);
    load.weights[3] = hot;
    return loadsOf(*load.shares(experts), ranks, 1024, 0).imbalance;
  };
  EXPECT_NEAR(imbalance(8, 8, 1), 1, 1e-12);
  EXPECT_NEAR(imbalance(8, 8, 2), 1.778, 5e-4);
  EXPECT_NEAR(imbalance(8, 8, 4), 2.909, 5e-4);
  EXPECT_NEAR(imbalance(8, 8, 8), 4.267, 5e-4);
  EXPECT_NEAR(imbalance(64, 8, 8), 1.690, 5e-4);
  // Whichever expert is hot, its rank is the most loaded one: x of 7 + x parts of all tokens.
  for (std::size_t hot = 0; hot < 8; ++hot) {
    for (int x = 1; x <= 8; ++x) {
      ExpertLoad load;
      load.weights.assign(8, 1.0);
      load.weights[hot] = x;
      const RankLoads found = loadsOf(*load.shares(8), 8, 1'000'000, 0);
      EXPECT_NEAR(found.imbalance, 8.0 * x / (7 + x), 1e-9) << hot << " " << x;
      if (x > 1) {
        EXPECT_EQ(found.hottest, hot) << x;
      }
    }
  }
}

TEST(ExpertLoads, AreReadAndChecked) {
  const auto shares = [](const std::string& text, std::int64_t experts) {
    const auto load = parseExpertLoad(text);
    EXPECT_TRUE(load.ok()) << load.error().message;
    return *load->shares(experts);
  };
  EXPECT_EQ(shares("uniform", 4), (std::vector<double>{.25, .25, .25, .25}));
  EXPECT_EQ(shares("4, 2 1 1", 4), (std::vector<double>{.5, .25, .125, .125}));
  const std::vector<double> zipf = shares("zipf 1", 3);  // 1, 1/2, 1/3 of 11/6
  EXPECT_NEAR(zipf[0], 6.0 / 11, 1e-12);
  EXPECT_NEAR(zipf[2], 2.0 / 11, 1e-12);
  // The second layer has a list of its own.
  const auto layers = parseExpertLoad("1, 3; 1, 1");
  ASSERT_TRUE(layers.ok());
  EXPECT_EQ(*layers->shares(2, 0), (std::vector<double>{.25, .75}));
  EXPECT_EQ(*layers->shares(2, 1), (std::vector<double>{.5, .5}));
  EXPECT_EQ(toString(*layers), "1, 3; 1, 1");
  EXPECT_NE(layers->shares(2, 2).error().message.find("lists for 2 layers"), std::string::npos);
  for (const char* wrong : {"", ";", "1, 2; 0, 0", "1, 2;", "zipf", "zipf 11", "zipf -1", "even", "1, x",
                            "0, 0", "1, -1", "nan"}) {
    const auto load = parseExpertLoad(wrong);
    ASSERT_FALSE(load.ok()) << wrong;
    EXPECT_NE(load.error().message.find("is no load of experts: give uniform"), std::string::npos);
  }
  EXPECT_EQ(parseExpertLoad("1, 2")->shares(3).error().message,
            "The load of experts has 2 numbers, but a layer has 3 experts: give one for each.");
  // An expert that gets no more than its capacity cuts the imbalance.
  EXPECT_NEAR(loadsOf({.7, .1, .1, .1}, 4, 100, 25).imbalance, 4 * 25.0 / 55, 1e-12);
}

TEST(ExpertRanks, SayWhatDoesNotDivide) {
  const graph::Graph model = modelOf("decoder",
                                     {{"layers", std::int64_t{1}},
                                      {"hidden", std::int64_t{8}},
                                      {"heads", std::int64_t{2}},
                                      {"experts", std::int64_t{6}},
                                      {"vocabulary", std::int64_t{12}}},
                                     1);
  const auto four = divideGraph(model, {.ranks = 4, .axis = model::MeshAxis::expert});
  ASSERT_FALSE(four.ok());
  EXPECT_EQ(four.error().message,
            "decoder/layer0/mixture/experts/dispatch has 6 experts, which do not divide by the 4 ranks of "
            "execution.expert_parallel: choose a divisor of 6.");
  const graph::Graph plain = modelOf("decoder",
                                     {{"layers", std::int64_t{1}},
                                      {"hidden", std::int64_t{8}},
                                      {"heads", std::int64_t{2}},
                                      {"vocabulary", std::int64_t{12}}},
                                     1);
  const auto none = divideGraph(plain, {.ranks = 2, .axis = model::MeshAxis::expert});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("but the model has none"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::compile
