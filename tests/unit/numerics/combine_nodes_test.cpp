// Tests which nodes a program combines, and that the numbers are those of the separate nodes and of plain
// loops.
#include "engine/numerics/combine_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/numerics/session.h"
#include "engine/ops/standard_operators.h"
#include "graph_testing.h"

namespace pipescope::numerics_test {
namespace {

using graph::Graph;
using graph::TensorId;

constexpr std::size_t kRows = 6, kIn = 4, kOut = 6, kPiece = 2;

TensorId addNode(Graph& graph, const std::string& op, const std::string& name, std::vector<TensorId> inputs,
                 graph::Attributes attributes = {}) {
  graph::Node node;
  node.op = op;
  node.name = name;
  node.block = "B";
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  auto made =
      ops::appendNode(graph, node, {name + "/out"}, graph::TensorRole::activation, ops::standardOperators());
  PIPESCOPE_CHECK(made.ok(), made.error().message);
  return made->front();
}

std::vector<float> pattern(std::size_t count, float scale) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = scale * (static_cast<float>((i * 37 + 11) % 23) - 11.0F);
  return values;
}

struct Built {
  Graph graph;
  TensorId turned, product;
};

/// y = x·Wᵀ + b is cut into three pieces; loss = mean (p₀·p₁ + p₂ − target)². `pieces` are their beginnings
/// and ends.
Built attentionLike(const std::vector<std::pair<std::int64_t, std::int64_t>>& pieces,
                    bool biasFirst = false) {
  using graph::ElementType;
  Built built;
  Graph& g = built.graph;
  const TensorId x = g.addTensor("x", {ElementType::float32, {3, 2, kIn}}, graph::TensorRole::input);
  const TensorId target =
      g.addTensor("target", {ElementType::float32, {3, 2, kPiece}}, graph::TensorRole::input);
  g.inputs = {x, target};
  const auto parameter = [&g](const std::string& name, graph::Shape shape, float scale) {
    const graph::TensorType type{ElementType::float32, std::move(shape)};
    const std::vector<float> values = pattern(static_cast<std::size_t>(type.elements()), scale);
    const auto bytes = std::as_bytes(std::span(values));
    const graph::TensorValue value{type, {bytes.begin(), bytes.end()}};
    return g.addParameter(
        name, type, {graph::Initializer::Kind::values, 0, std::make_shared<const graph::TensorValue>(value)});
  };
  const TensorId weight = parameter("weight", {kOut, kIn}, 0.05F), bias = parameter("bias", {kOut}, 0.1F);
  built.turned = addNode(g, "Transpose", "turn", {weight}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  built.product = addNode(g, "MatMul", "product", {x, built.turned});
  const TensorId y = biasFirst ? addNode(g, "Add", "bias", {bias, built.product})
                               : addNode(g, "Add", "bias", {built.product, bias});
  std::vector<TensorId> parts;
  for (const auto& [begin, end] : pieces) {
    parts.push_back(addNode(g, "Slice", "slice" + std::to_string(parts.size()), {y},
                            {{"starts", std::vector<std::int64_t>{begin}},
                             {"ends", std::vector<std::int64_t>{end}},
                             {"axes", std::vector<std::int64_t>{2}}}));
  }
  const TensorId both = addNode(g, "Mul", "both", {parts[0], parts[1]});
  const TensorId result = addNode(g, "Add", "result", {both, parts[2]});
  g.outputs = {result};
  g.loss = addNode(g, "MeanSquaredErrorLoss", "loss", {result, target});
  return built;
}

struct TrainedLinear {
  float loss = 0;
  std::vector<float> weight, bias;
};

/// One step of plain gradient descent at rate 1, so that the weights show the gradients.
TrainedLinear trainLinear(const Graph& graph) {
  base::SerialExecutor serial;
  auto rule = optimizers::createOptimizer("sgd", {{"learning_rate", 1}});
  PIPESCOPE_CHECK(rule.ok(), rule.error().message);
  auto session = numerics::Session::create(graph, ops::standardOperators(), std::move(rule).value(), serial);
  PIPESCOPE_CHECK(session.ok(), session.error().message);
  const std::vector<float> x = pattern(kRows * kIn, 0.1F), target = pattern(kRows * kPiece, 0.02F);
  numerics::Results results;
  const base::Status status = (*session)->trainStep(
      {numerics::rowsOf(std::span(x)), numerics::rowsOf(std::span(target))}, numerics::Keep::none, results);
  PIPESCOPE_CHECK(status.ok(), status.error().message);
  const auto valuesOf = [&session](const std::string& name) {
    const auto floats = (*session)->parameters().floats((*session)->parameters().find(name));
    return std::vector<float>(floats.begin(), floats.end());
  };
  return {results.losses.at(0), valuesOf("weight"), valuesOf("bias")};
}

const std::vector<std::pair<std::int64_t, std::int64_t>> kAdjacentPieces{{0, 2}, {2, 4}, {4, 6}};

/// Compares with the same computation in loops and double precision.
void expectAsInLoops(const TrainedLinear& trained) {
  const std::vector<float> x = pattern(kRows * kIn, 0.1F), target = pattern(kRows * kPiece, 0.02F),
                           w = pattern(kOut * kIn, 0.05F), b = pattern(kOut, 0.1F);
  double loss = 0;
  std::vector<double> dw(kOut * kIn), db(kOut);
  for (std::size_t row = 0; row < kRows; ++row) {
    std::vector<double> y(kOut), dy(kOut);
    for (std::size_t o = 0; o < kOut; ++o) {
      y[o] = static_cast<double>(b[o]);
      for (std::size_t i = 0; i < kIn; ++i)
        y[o] += static_cast<double>(x[row * kIn + i]) * static_cast<double>(w[o * kIn + i]);
    }
    for (std::size_t j = 0; j < kPiece; ++j) {
      const double away =
          y[j] * y[kPiece + j] + y[2 * kPiece + j] - static_cast<double>(target[row * kPiece + j]);
      loss += away * away / (kRows * kPiece);
      const double slope = 2 * away / (kRows * kPiece);
      dy[j] = slope * y[kPiece + j];
      dy[kPiece + j] = slope * y[j];
      dy[2 * kPiece + j] = slope;
    }
    for (std::size_t o = 0; o < kOut; ++o) {
      db[o] += dy[o];
      for (std::size_t i = 0; i < kIn; ++i) dw[o * kIn + i] += dy[o] * static_cast<double>(x[row * kIn + i]);
    }
  }
  constexpr double kNear = 2e-6;
  EXPECT_NEAR(static_cast<double>(trained.loss), loss, kNear);
  for (std::size_t i = 0; i < dw.size(); ++i)
    EXPECT_NEAR(static_cast<double>(trained.weight[i]), static_cast<double>(w[i]) - dw[i], kNear) << i;
  for (std::size_t i = 0; i < db.size(); ++i)
    EXPECT_NEAR(static_cast<double>(trained.bias[i]), static_cast<double>(b[i]) - db[i], kNear) << i;
}

TEST(CombineNodes, WeightsAreTakenAsTheyAreAndBiasesAdded) {
  for (const bool biasFirst : {false, true}) {
    const Graph graph = withGradients(attentionLike(kAdjacentPieces, biasFirst).graph);
    ASSERT_EQ(countOf(graph.nodes(), "GradSlice"), 3);
    const std::vector<graph::Node> nodes = numerics::combineNodes(graph);
    EXPECT_EQ(countOf(nodes, "Linear"), 1);
    for (const char* gone : {"MatMul", "Transpose", "GradSlice", "Sum"})
      EXPECT_EQ(countOf(nodes, gone), 0) << gone;
    EXPECT_EQ(countOf(nodes, "GradSplit"), 1);
    EXPECT_EQ(countOf(nodes, "Add"), 1) << "the other one adds no bias";
    for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes[i].id.value, static_cast<std::int64_t>(i));
    expectAsInLoops(trainLinear(graph));
  }
}

TEST(CombineNodes, NumbersAreThoseOfTheSeparateNodes) {
  const TrainedLinear together = trainLinear(withGradients(attentionLike(kAdjacentPieces).graph));
  Built apart = attentionLike(kAdjacentPieces);
  // Something else reads a tensor between the nodes.
  apart.graph.outputs.push_back(apart.turned);
  apart.graph.outputs.push_back(apart.product);
  const Graph graph = withGradients(apart.graph);
  const std::vector<graph::Node> nodes = numerics::combineNodes(graph);
  EXPECT_EQ(countOf(nodes, "Linear"), 0);
  EXPECT_EQ(countOf(nodes, "MatMul"), 1);
  EXPECT_EQ(countOf(nodes, "Add"), 2);
  const TrainedLinear separate = trainLinear(graph);
  EXPECT_EQ(together.loss, separate.loss);
  EXPECT_EQ(together.weight, separate.weight);
  EXPECT_EQ(together.bias, separate.bias);
}

TEST(CombineNodes, PiecesThatOverlapOrLeaveGapsAreAddedUp) {
  using Pieces = std::vector<std::pair<std::int64_t, std::int64_t>>;
  for (const Pieces& pieces : {Pieces{{0, 2}, {1, 3}, {4, 6}}, Pieces{{0, 2}, {2, 4}, {2, 4}}}) {
    const Graph graph = withGradients(attentionLike(pieces).graph);
    const std::vector<graph::Node> nodes = numerics::combineNodes(graph);
    EXPECT_EQ(countOf(nodes, "GradSlice"), 3);
    EXPECT_EQ(countOf(nodes, "GradSplit"), 0);
  }
  // Their order does not matter.
  const Graph turned = withGradients(attentionLike({{4, 6}, {0, 2}, {2, 4}}).graph);
  EXPECT_EQ(countOf(numerics::combineNodes(turned), "GradSplit"), 1);
}

TEST(CombineNodes, ProductOfTwoActivationsAndBiasOfAnotherShapeStay) {
  Graph g;
  const graph::TensorType matrix{graph::ElementType::float32, {4, 4}};
  const TensorId a = g.addTensor("a", matrix, graph::TensorRole::input),
                 b = g.addTensor("b", {graph::ElementType::float32, {4, 1}}, graph::TensorRole::input);
  g.inputs = {a, b};
  const TensorId product = addNode(g, "MatMul", "product", {a, a});
  const TensorId column = addNode(g, "Add", "column", {product, b});  // a number for each row
  const TensorId made = addNode(g, "MatMul", "second", {column, column});
  const TensorId moving = addNode(g, "Relu", "moving", {column});
  g.outputs = {addNode(g, "Add", "late", {made, moving})};  // made by a node: may come too late
  EXPECT_EQ(countOf(numerics::combineNodes(g), "Linear"), 0);
  EXPECT_EQ(numerics::combineNodes(g).size(), g.nodes().size());
}

}  // namespace
}  // namespace pipescope::numerics_test
