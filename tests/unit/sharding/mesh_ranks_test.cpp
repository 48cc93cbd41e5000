// Tests that ranks along the axes tensor, context and expert compute together what the undivided model
// computes: along one axis, and along all of them at once.
#include <gtest/gtest.h>

#include "tests/unit/sharding/mesh_proof.h"

namespace pipescope::compile {
namespace {

DivisionOptions context(std::int64_t ranks, std::int64_t positions, bool exchangesHeads) {
  return {
      .ranks = ranks, .axis = MeshAxis::context, .positions = positions, .exchangesHeads = exchangesHeads};
}

Settings drawnDecoder(Draw& draw, std::int64_t heads, std::int64_t positions) {
  Settings settings{{"layers", draw.pick({1, 2})},
                    {"hidden", heads * 2},
                    {"heads", heads},
                    {"key_heads", draw.coin() ? std::int64_t{0} : heads / 2},
                    {"feed_forward", std::int64_t{8}},
                    {"sequence", positions},
                    {"vocabulary", std::int64_t{16}},
                    {"gated", draw.coin()},
                    {"norm", std::string(draw.coin() ? "rms" : "layer")},
                    {"activation", std::string(draw.coin() ? "silu" : "gelu")},
                    {"position", std::string(draw.coin()   ? "rotary"
                                             : draw.coin() ? "none"
                                                           : "learned")},
                    {"parallel", draw.coin()},
                    {"tie_embeddings", draw.coin()},
                    {"attention_bias", draw.coin()},
                    {"head_norm", draw.coin()}};
  return settings;
}

class DrawnMeshes : public ::testing::TestWithParam<unsigned> {};

TEST_P(DrawnMeshes, ComputeWhatTheModelDoes) {
  for (unsigned i = 0; i < 20; ++i) {
    Draw draw(GetParam() * 20 + i);
    const std::int64_t tensor = draw.pick({1, 2}), contexts = draw.pick({1, 2, 4}),
                       experts = draw.pick({1, 2});
    const std::int64_t positions = contexts * draw.pick({3, 5}), heads = std::max<std::int64_t>(4, contexts);
    Settings settings = drawnDecoder(draw, heads, positions);
    if (experts > 1 || draw.coin()) {
      settings["experts"] = std::int64_t{4};
      settings["experts_per_token"] = draw.pick({1, 2});
      settings["shared_experts"] = draw.pick({0, 1});
    }
    const graph::Graph model = modelOf("decoder", settings, draw.pick({1, 2}));
    if (HasFailure()) return;
    std::vector<DivisionOptions> axes;
    if (contexts > 1) axes.push_back(context(contexts, positions, draw.coin()));
    if (tensor > 1) axes.push_back({.ranks = tensor, .leastTableRows = 1});
    if (experts > 1) axes.push_back({.ranks = experts, .axis = MeshAxis::expert});
    if (axes.empty()) continue;
    proveMesh(model, axes, i, 16, "draw " + std::to_string(draw.seed()));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(TwoHundred, DrawnMeshes, ::testing::Range(0U, 10U));

/// Each layer gathers keys and values (2·b·s·k·d elements) and scatters their gradients; with heads exchanged
/// it has 4 all-to-alls each way (parallelism, §5).
TEST(ContextRanks, ExchangeWhatTheClosedFormSays) {
  constexpr std::int64_t kTokens = 8, kHeads = 6, kKeyHeads = 2, kSize = 2, kLayers = 3, kBatch = 2;
  const graph::Graph model = modelOf("decoder",
                                     {{"layers", kLayers},
                                      {"hidden", kHeads * kSize},
                                      {"heads", kHeads},
                                      {"key_heads", kKeyHeads},
                                      {"feed_forward", std::int64_t{4}},
                                      {"sequence", kTokens},
                                      {"vocabulary", std::int64_t{12}}},
                                     kBatch);
  for (const bool exchanges : {false, true}) {
    const std::optional<Divided> divided = dividedBy(model, {context(2, kTokens, exchanges)}, "context");
    ASSERT_TRUE(divided);
    const auto trained = addGradients(divided->graph, ops::standardOperators());
    ASSERT_TRUE(trained.ok()) << trained.error().message;
    std::map<std::pair<ops::Collective::Kind, bool>, std::int64_t> elements;
    for (const graph::Node& node : trained->nodes()) {
      const auto work = ops::workOf(*trained, node, ops::standardOperators());
      ASSERT_TRUE(work.ok());
      for (const ops::Work& each : *work) {
        const auto* collective = std::get_if<ops::Collective>(&each.item);
        if (collective == nullptr || collective->elements == 1) continue;  // the loss
        EXPECT_EQ(collective->axis, MeshAxis::context);
        elements[{collective->kind, node.pass == model::Pass::forward}] += collective->elements;
      }
    }
    using Kind = ops::Collective::Kind;
    constexpr std::int64_t kKeys = kBatch * kTokens * kKeyHeads * kSize,
                           kQueries = kBatch * kTokens * kHeads * kSize;
    if (exchanges) {
      // A rank holds half of the tokens.
      EXPECT_EQ(elements[std::pair(Kind::allToAll, true)], kLayers * (2 * kQueries + 2 * kKeys) / 2);
      EXPECT_EQ(elements[std::pair(Kind::allToAll, false)], kLayers * (2 * kQueries + 2 * kKeys) / 2);
      EXPECT_EQ(elements[std::pair(Kind::allGather, true)], 0);
    } else {
      EXPECT_EQ(elements[std::pair(Kind::allGather, true)], kLayers * 2 * kKeys);
      EXPECT_EQ(elements[std::pair(Kind::reduceScatter, false)], kLayers * 2 * kKeys);
      EXPECT_EQ(elements[std::pair(Kind::allToAll, true)], 0);
    }
  }
}

TEST(ContextRanks, SayWhatDoesNotDivide) {
  const Settings small{{"layers", std::int64_t{1}},
                       {"hidden", std::int64_t{8}},
                       {"heads", std::int64_t{2}},
                       {"sequence", std::int64_t{6}},
                       {"vocabulary", std::int64_t{12}}};
  const auto uneven = divideGraph(modelOf("decoder", small, 1), context(4, 6, false));
  ASSERT_FALSE(uneven.ok());
  EXPECT_EQ(
      uneven.error().message,
      "A sample has 6 positions, which do not divide by the 4 ranks of execution.context_parallel: choose a "
      "divisor, or another length.");
  Settings classes = small;
  classes["head"] = std::string("classification");
  const auto pooled = divideGraph(modelOf("bert", classes, 1), context(2, 6, false));
  ASSERT_FALSE(pooled.ok());
  EXPECT_NE(pooled.error().message.find("works on all positions at once"), std::string::npos)
      << pooled.error().message;
}

}  // namespace
}  // namespace pipescope::compile
