// Tests which attention is fused, and what a plan of it computes and keeps. With b·h stacks of s queries and
// keys of size d, the forward pass multiplies 2·b·h·s²·d numbers, and the backward pass 5·b·h·s²·d, because
// it makes the scores again (Dao et al. 2022). Nothing of b·h·s² numbers is kept.
#include "engine/compile/attention/fused_attention.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <span>
#include <variant>

#include "engine/compile/gradients.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Node;
using graph::TensorId;
using graph::TensorRole;

constexpr std::int64_t kStacks = 6, kTokens = 8, kSize = 4;

/// x·Wq, x·Wk and x·Wv, and attention over them with a scale and a mask.
class AttentionModel {
 public:
  Graph graph;
  TensorId mask;

  TensorId node(const std::string& op, const std::string& name, std::vector<TensorId> inputs,
                graph::Attributes attributes = {}) {
    Node made;
    made.op = op;
    made.name = "layer/" + name;
    made.block = "layer";
    made.inputs = std::move(inputs);
    made.attributes = std::move(attributes);
    auto outputs = ops::appendNode(graph, std::move(made), {"layer/" + name + "/out"}, TensorRole::activation,
                                   ops::standardOperators());
    EXPECT_TRUE(outputs.ok()) << outputs.error().message;
    return outputs->front();
  }
  TensorId weight(const std::string& name, graph::Shape shape) {
    return graph.addParameter("layer/" + name, {ElementType::float32, std::move(shape)}, {});
  }

  using Masking = std::function<TensorId(AttentionModel&, TensorId)>;

  /// `masking` adds what hides scores, in place of an input that is added to them.
  explicit AttentionModel(bool trainedMask = false, std::int64_t queries = kTokens,
                          std::int64_t keys = kTokens, const Masking& masking = {}) {
    const TensorId x = graph.addTensor("x", {ElementType::float32, {kStacks, queries, kSize}},
                                       TensorRole::input),
                   y = graph.addTensor("y", {ElementType::float32, {kStacks, keys, kSize}},
                                       TensorRole::input);
    graph.inputs = {x, y};
    const TensorId q = node("MatMul", "query", {x, weight("wq", {kSize, kSize})}),
                   k = node("MatMul", "key", {y, weight("wk", {kSize, kSize})}),
                   v = node("MatMul", "value", {y, weight("wv", {kSize, kSize})});
    const TensorId kT = node("Transpose", "turn", {k}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    const TensorId products = node("MatMul", "scores", {q, kT});
    if (masking) {
      scores = masking(*this, products);
    } else {
      addInputMask(trainedMask, {queries, keys}, products);
    }
    const TensorId weights = node("Softmax", "softmax", {scores}, {{"axis", std::int64_t{-1}}});
    graph.outputs = {node("MatMul", "context", {weights, v})};
  }

  void addInputMask(bool trained, const graph::Shape& shape, TensorId products) {
    mask = trained ? weight("bias", shape)
                   : graph.addTensor("mask", {ElementType::float32, shape}, TensorRole::input);
    if (!trained) graph.inputs.push_back(mask);
    scores = node("Add", "mask", {products, mask});
  }
  TensorId scores;
};

std::int64_t productsOf(const Graph& graph, const Node& node) {
  std::int64_t multiplyAdds = 0;
  const std::vector<ops::Work> all = ops::workOf(graph, node, ops::standardOperators()).value();
  for (const ops::Work& work : all)
    if (const auto* product = std::get_if<ops::Contraction>(&work.item))
      multiplyAdds += product->multiplyAdds();
  return multiplyAdds;
}

std::optional<Graph> fusedGraphOf(const Graph& graph, AttentionFusion fusion = {}) {
  auto fused = fuseAttention(graph, fusion, ops::standardOperators());
  EXPECT_TRUE(fused.ok()) << (fused.ok() ? "" : fused.error().message);
  return fused.ok() ? *fused : std::nullopt;
}

/// Kernels that skip what a causal mask hides compute whole tiles of 128 x 128 pairs, whether numbers are
/// added to the scores or booleans choose among them. A mask that hides something else is no causal one.
TEST(FusedAttention, SkipsOnlyWhatACausalMaskHides) {
  constexpr std::int64_t kLong = 512;
  enum class Kind { added, seen, hidden, shifted };
  for (const Kind kind : {Kind::added, Kind::seen, Kind::hidden, Kind::shifted}) {
    AttentionModel model(false, kLong, kLong, [&](AttentionModel& of, TensorId scores) {
      const bool numbers = kind == Kind::added || kind == Kind::shifted;
      std::vector<float> added;
      std::vector<std::byte> bytes;
      for (std::int64_t row = 0; row < kLong; ++row) {
        for (std::int64_t column = 0; column < kLong; ++column) {
          const bool seen = column <= row + (kind == Kind::shifted ? 1 : 0);
          added.push_back(seen ? 0.0F : -1e9F);
          if (!numbers) bytes.push_back(std::byte{seen == (kind == Kind::seen)});
        }
      }
      if (numbers) {
        const auto raw = std::as_bytes(std::span(added));
        bytes.assign(raw.begin(), raw.end());
      }
      const TensorId mask = of.graph.addConstant(
          "causal", {numbers ? ElementType::float32 : ElementType::boolean, {kLong, kLong}}, bytes);
      if (numbers) return of.node("Add", "causal", {scores, mask});
      const float least = -1e9F;
      const auto raw = std::as_bytes(std::span(&least, 1));
      const TensorId filler =
          of.graph.addConstant("filler", {ElementType::float32, {}}, {raw.begin(), raw.end()});
      return kind == Kind::seen ? of.node("Where", "causal", {mask, scores, filler})
                                : of.node("Where", "causal", {mask, filler, scores});
    });
    const auto fused = fusedGraphOf(model.graph, {.skipsMasked = true});
    ASSERT_TRUE(fused);
    std::int64_t products = 0;
    for (const Node& node : fused->nodes())
      if (node.op == "FusedAttention") products = productsOf(*fused, node);
    // There are 4 x 4 tiles, of which 10 lie on the diagonal or below.
    const std::int64_t pairs = kind == Kind::shifted ? kLong * kLong : 10 * 128 * 128;
    EXPECT_EQ(products, kStacks * 2 * pairs * kSize) << static_cast<int>(kind);
  }
}

TEST(FusedAttention, StandsForTheTwoProductsAndWhatLiesBetween) {
  const AttentionModel model;
  const auto fused = fusedGraphOf(model.graph);
  ASSERT_TRUE(fused);
  std::vector<std::string> ops;
  for (const Node& node : fused->nodes()) ops.push_back(node.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"MatMul", "MatMul", "MatMul", "Transpose", "FusedAttention"}));
  const Node& node = fused->nodes().back();
  EXPECT_EQ(node.name, "layer/fused_attention");
  EXPECT_EQ(node.inputs.size(), 4u) << "queries, keys, values and the mask";
  EXPECT_EQ(fused->tensor(fused->outputs[0]).type, model.graph.tensor(model.graph.outputs[0]).type);
  EXPECT_EQ(productsOf(*fused, node), 2 * kStacks * kTokens * kTokens * kSize);
  EXPECT_TRUE(ops::checkShapes(*fused, ops::standardOperators()).ok());
}

TEST(FusedAttention, ItsGradientMakesScoresAgainAndKeepsNone) {
  AttentionModel model;
  const TensorId labels =
      model.graph.addTensor("labels", {ElementType::float32, {kStacks, kTokens, kSize}}, TensorRole::input);
  model.graph.inputs.push_back(labels);
  const TensorId error = model.node("Sub", "error", {model.graph.outputs[0], labels});
  const TensorId square = model.node("Mul", "square", {error, error});
  model.graph.loss = model.node("ReduceMean", "loss", {square}, {{"keepdims", std::int64_t{0}}});
  const auto fused = fusedGraphOf(model.graph);
  ASSERT_TRUE(fused);
  const auto trained = addGradients(*fused, ops::standardOperators()),
             whole = addGradients(model.graph, ops::standardOperators());
  ASSERT_TRUE(trained.ok()) << trained.error().message;
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(trained->parameterGradients.size(), whole->parameterGradients.size());
  int gradients = 0;
  for (const Node& node : trained->nodes()) {
    if (node.op != "GradFusedAttention") continue;
    ++gradients;
    EXPECT_EQ(productsOf(*trained, node), 5 * kStacks * kTokens * kTokens * kSize);
  }
  EXPECT_EQ(gradients, 1);
  const auto holdsScores = [](const Graph& graph) {
    return std::ranges::any_of(graph.tensors(), [](const graph::Tensor& tensor) {
      return tensor.type.shape == graph::Shape{kStacks, kTokens, kTokens};
    });
  };
  EXPECT_TRUE(holdsScores(*whole));
  EXPECT_FALSE(holdsScores(*trained));
}

TEST(FusedAttention, LeavesWhatSoftwareDoesNotFuse) {
  EXPECT_FALSE(fusedGraphOf(AttentionModel(true).graph)) << "a mask that is trained needs the scores";
  EXPECT_FALSE(fusedGraphOf(AttentionModel(false, 1).graph)) << "one token attends to a cache";
  EXPECT_FALSE(fusedGraphOf(AttentionModel().graph, {.leastKeys = kTokens + 1}));
  EXPECT_TRUE(fusedGraphOf(AttentionModel().graph, {.leastKeys = kTokens}));
  AttentionModel read;
  read.graph.outputs.push_back(read.scores);
  EXPECT_FALSE(fusedGraphOf(read.graph)) << "somebody reads the scores";
}

TEST(FusedAttention, MayMultiplyASmallerType) {
  const auto fused =
      fusedGraphOf(AttentionModel().graph, {.leastKeys = 1, .factors = ElementType::float8_143fn});
  ASSERT_TRUE(fused);
  const Node& node = fused->nodes().back();
  int products = 0, casts = 0;
  const std::vector<ops::Work> all = ops::workOf(*fused, node, ops::standardOperators()).value();
  for (const ops::Work& work : all) {
    if (const auto* product = std::get_if<ops::Contraction>(&work.item)) {
      EXPECT_EQ(product->type, ElementType::float8_143fn);
      ++products;
    }
    const auto* map = std::get_if<ops::Map>(&work.item);
    casts += map != nullptr && map->function == ops::MapFunction::cast ? 1 : 0;
  }
  EXPECT_EQ(products, 2);
  EXPECT_EQ(casts, 2);
}

}  // namespace
}  // namespace pipescope::compile
