// Chains of rearrangements as single moves: whatever the chain, the same elements are at the same places.
#include "engine/numerics/combine_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "engine/compile/gradients.h"
#include "engine/numerics/combine_nodes.h"
#include "engine/numerics/session.h"
#include "engine/ops/moves/strided_move.h"
#include "engine/ops/standard_operators.h"
#include "graph_testing.h"

namespace pipescope::numerics_test {
namespace {

using graph::Graph;
using graph::TensorId;
using Ints = std::vector<std::int64_t>;

TensorId addNode(Graph& graph, const std::string& op, std::vector<TensorId> inputs,
                 graph::Attributes attributes = {}) {
  graph::Node node;
  node.op = op;
  node.name = op + std::to_string(graph.nodes().size());
  node.block = "B";
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  auto made = ops::appendNode(graph, node, {node.name + "/out"}, graph::TensorRole::activation,
                              ops::standardOperators());
  PIPESCOPE_CHECK(made.ok(), made.error().message);
  return made->front();
}

/// Returns y of a graph with one input x, whose elements are 0, 1, 2 …
std::vector<float> run(const Graph& graph) {
  base::SerialExecutor serial;
  auto session = numerics::Session::create(graph, ops::standardOperators(), nullptr, serial);
  PIPESCOPE_CHECK(session.ok(), session.error().message);
  std::vector<float> x(static_cast<std::size_t>(graph.tensor(graph.inputs[0]).type.elements()));
  std::iota(x.begin(), x.end(), 0.0F);
  numerics::Results results;
  const base::Status status =
      (*session)->infer({numerics::rowsOf(std::span<const float>(x))}, numerics::Keep::all, results);
  PIPESCOPE_CHECK(status.ok(), status.error().message);
  const auto y = results.output<float>(0);
  return {y.begin(), y.end()};
}

std::vector<graph::Node> combined(const Graph& graph) {
  return numerics::combineMoves(graph, numerics::combineNodes(graph));
}

TensorId input(Graph& graph, graph::Shape shape) {
  const TensorId x =
      graph.addTensor("x", {graph::ElementType::float32, std::move(shape)}, graph::TensorRole::input);
  graph.inputs = {x};
  return x;
}

TensorId slice(Graph& graph, TensorId x, std::int64_t axis, std::int64_t start, std::int64_t end,
               std::int64_t step = 1) {
  return addNode(graph, "Slice", {x},
                 {{"starts", Ints{start}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{step}}});
}

TensorId reshape(Graph& graph, TensorId x, Ints shape) {
  return addNode(graph, "Reshape", {x}, {{"shape", std::move(shape)}});
}

TEST(CombineMoves, HeadsOfAnAttentionAreOneMove) {
  // [3, 2, 12] → the second third → [3, 2·2, 2] → [4, 3, 2], as exporters write it.
  Graph g;
  const TensorId x = input(g, {3, 2, 12});
  const TensorId heads = reshape(g, slice(g, x, 2, 4, 8), {3, 4, 2});
  g.outputs = {addNode(g, "Relu", {addNode(g, "Transpose", {heads}, {{"perm", Ints{1, 0, 2}}})})};
  const std::vector<graph::Node> nodes = combined(g);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].op, "StridedRead");
  std::vector<float> expected;
  for (std::int64_t head = 0; head < 4; ++head) {
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t i = 0; i < 2; ++i)
        expected.push_back(static_cast<float>(row * 24 + head / 2 * 12 + 4 + head % 2 * 2 + i));
    }
  }
  EXPECT_EQ(run(g), expected);
}

TEST(CombineMoves, AnyChainGivesTheSameElements) {
  std::mt19937 random(7);
  const auto below = [&random](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  std::int64_t combinedChains = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Graph alone, watched;
    TensorId a = input(alone, {4, 6, 2, 5}), b = input(watched, {4, 6, 2, 5});
    std::vector<TensorId> between;
    for (int step = 0; step < 4; ++step) {
      const graph::Shape shape = alone.tensor(a).type.shape;
      const auto rank = static_cast<std::int64_t>(shape.size());
      const std::int64_t kind = below(4);
      const auto both = [&](const auto& make) {
        a = make(alone, a);
        b = make(watched, b);
        between.push_back(b);
      };
      if (kind == 0) {
        const std::int64_t axis = below(shape.size()), extent = shape[static_cast<std::size_t>(axis)];
        const std::int64_t start = below(static_cast<std::size_t>(extent)), stride = 1 + below(2);
        if (below(3) == 0) {
          both([&](Graph& g, TensorId x) { return slice(g, x, axis, start, -extent - 1, -1); });
        } else {
          both([&](Graph& g, TensorId x) { return slice(g, x, axis, start, extent, stride); });
        }
      } else if (kind == 1) {
        Ints perm(shape.size());
        std::iota(perm.begin(), perm.end(), 0);
        std::ranges::shuffle(perm, random);
        both([&](Graph& g, TensorId x) { return addNode(g, "Transpose", {x}, {{"perm", perm}}); });
      } else if (kind == 2 && rank > 1) {
        const std::int64_t axis = below(shape.size() - 1);  // two neighbours become one axis
        Ints merged(shape.begin(), shape.end());
        merged[static_cast<std::size_t>(axis)] *= merged[static_cast<std::size_t>(axis) + 1];
        merged.erase(merged.begin() + axis + 1);
        both([&](Graph& g, TensorId x) { return reshape(g, x, merged); });
      } else {
        const std::int64_t axis = below(shape.size());  // one axis becomes two
        Ints split(shape.begin(), shape.end());
        std::int64_t& extent = split[static_cast<std::size_t>(axis)];
        const std::int64_t inner = extent % 2 == 0 ? 2 : 1;
        extent /= inner;
        split.insert(split.begin() + axis + 1, inner);
        both([&](Graph& g, TensorId x) { return reshape(g, x, split); });
      }
    }
    alone.outputs = {addNode(alone, "Relu", {a})};
    watched.outputs = {addNode(watched, "Relu", {b})};
    watched.outputs.insert(watched.outputs.end(), between.begin(), between.end());  // nothing may be combined
    EXPECT_EQ(countOf(combined(watched), "StridedRead"), 0);
    combinedChains += countOf(combined(alone), "StridedRead");
    ASSERT_EQ(run(alone), run(watched)) << "chain " << trial;
  }
  EXPECT_GT(combinedChains, 50);
}

TEST(CombineMoves, WhatIsNoViewStaysApart) {
  // A transposed matrix is flattened and then cut. Neither one stride nor two describe that.
  Graph g;
  const TensorId x = input(g, {3, 5});
  const TensorId flat = reshape(g, addNode(g, "Transpose", {x}, {{"perm", Ints{1, 0}}}), {15});
  g.outputs = {addNode(g, "Relu", {slice(g, flat, 0, 1, 14)})};
  EXPECT_EQ(countOf(combined(g), "StridedRead"), 0);
  const std::vector<float> y = run(g);
  ASSERT_EQ(y.size(), 13u);
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(y[i], static_cast<float>((i + 1) % 3 * 5 + (i + 1) / 3));
}

/// The loss sums over products of the heads of pieces. Their gradients come back through Transposes and
/// Reshapes.
Graph attention(bool watched) {
  Graph g;
  const TensorId x = g.addTensor("x", {graph::ElementType::float32, {3, 4}}, graph::TensorRole::input);
  const TensorId target =
      g.addTensor("target", {graph::ElementType::float32, {4, 3, 3}}, graph::TensorRole::input);
  g.inputs = {x, target};
  const TensorId weight = g.addParameter("weight", {graph::ElementType::float32, {4, 16}},
                                         {graph::Initializer::Kind::uniform, 0.5, nullptr});
  const TensorId y = addNode(g, "MatMul", {x, weight});
  std::vector<TensorId> heads;
  for (std::int64_t i = 0; i < 2; ++i) {
    const TensorId own = reshape(g, slice(g, y, 1, i * 8, i * 8 + 8), {3, 4, 2});
    if (watched) g.outputs.push_back(own);
    heads.push_back(addNode(g, "Transpose", {own}, {{"perm", i == 0 ? Ints{1, 0, 2} : Ints{1, 2, 0}}}));
  }
  const TensorId scores = addNode(g, "MatMul", {heads[0], heads[1]});
  g.outputs.insert(g.outputs.begin(), scores);
  g.loss = addNode(g, "MeanSquaredErrorLoss", {scores, target});
  const auto graph = compile::addGradients(g, ops::standardOperators());
  PIPESCOPE_CHECK(graph.ok(), graph.error().message);
  return *graph;
}

TEST(CombineMoves, GradientsOfPiecesAreWrittenWhereTheyBelong) {
  const Graph graph = attention(false);
  const std::vector<graph::Node> nodes = combined(graph);
  EXPECT_EQ(countOf(nodes, "StridedRead"), 2);
  EXPECT_EQ(countOf(nodes, "StridedWrite"), 1);
  for (const char* gone : {"Slice", "Transpose", "Reshape", "GradSlice", "GradSplit", "Sum"})
    EXPECT_EQ(countOf(nodes, gone), 0) << gone;
  // Compares the weight gradient with central differences.
  const std::vector<float> x{0.5F, -1, 2, 0.25F, 1, 1.5F, -0.5F, 0.75F, -2, 0.125F, 1, -1}, target(36, 0.25F);
  const auto lossAndWeights = [&](std::size_t moved, float by, double rate) {
    base::SerialExecutor serial;
    auto rule = optimizers::createOptimizer("sgd", {{"learning_rate", rate}});
    auto session =
        numerics::Session::create(graph, ops::standardOperators(), std::move(rule).value(), serial);
    PIPESCOPE_CHECK(session.ok(), session.error().message);
    const std::span<float> weights = (*session)->parameters().floats(0);
    weights[moved] += by;
    const std::vector<float> before(weights.begin(), weights.end());
    numerics::Results results;
    const base::Status status = (*session)->trainStep(
        {numerics::rowsOf(std::span(x)), numerics::rowsOf(std::span(target))}, numerics::Keep::none, results);
    PIPESCOPE_CHECK(status.ok(), status.error().message);
    std::vector<double> gradient;
    for (std::size_t i = 0; i < weights.size(); ++i)
      gradient.push_back((static_cast<double>(before[i]) - static_cast<double>(weights[i])) / rate);
    return std::pair(static_cast<double>(results.losses.at(0)), gradient);
  };
  const std::vector<double> gradient = lossAndWeights(0, 0, 1).second;
  constexpr float kStep = 1.0F / 64;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double up = lossAndWeights(i, kStep, 1).first, down = lossAndWeights(i, -kStep, 1).first;
    EXPECT_NEAR(gradient[i], (up - down) / (2 * static_cast<double>(kStep)), 2e-3) << i;
  }
  EXPECT_EQ(countOf(combined(attention(true)), "StridedRead"), 0) << "somebody reads the pieces";
}

TEST(CombineNodes, DropoutThatDropsNothingIsLeftOut) {
  for (const bool off : {true, false}) {
    Graph g;
    const TensorId x = input(g, {2, 3});
    const float ratio = 0;
    const auto bytes = std::as_bytes(std::span(&ratio, 1));
    const TensorId none =
        g.addConstant("ratio", {graph::ElementType::float32, {}}, {bytes.begin(), bytes.end()});
    const float half = 0.5F;
    const auto halfBytes = std::as_bytes(std::span(&half, 1));
    const TensorId some =
        g.addConstant("half", {graph::ElementType::float32, {}}, {halfBytes.begin(), halfBytes.end()});
    const TensorId training = g.addConstant("training", {graph::ElementType::boolean, {}}, {std::byte{1}});
    const TensorId dropped = addNode(g, "Dropout", {addNode(g, "Relu", {x}), off ? none : some, training});
    g.outputs = {addNode(g, "Neg", {dropped})};
    const std::vector<graph::Node> nodes = combined(g);
    EXPECT_EQ(countOf(nodes, "Dropout"), off ? 0 : 1);
    if (off) {
      EXPECT_EQ(run(g), (std::vector<float>{-0.0F, -1, -2, -3, -4, -5}));
    }
  }
}

}  // namespace
}  // namespace pipescope::numerics_test
