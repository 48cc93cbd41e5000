// Training computes the same bits with and without the compiler's passes over the graph, also if they change
// it.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/compile/passes/pass.h"
#include "engine/ops/standard_operators.h"
#include "mnist_model.h"

namespace pipescope::numerics_test {
namespace {

using graph::ElementType;
using graph::TensorId;
using graph::TensorRole;

/// The sum of two equal tanh(x·W) goes to a loss. A shift is made of two constants. Forward and backward
/// nodes repeat each other.
graph::Graph repetitive() {
  graph::Graph graph;
  const TensorId x = graph.addTensor("samples", {ElementType::float32, {4, 784}}, TensorRole::input);
  const TensorId labels = graph.addTensor("labels", {ElementType::int32, {4}}, TensorRole::input);
  graph.inputs = {x, labels};
  const TensorId weight = graph.addParameter("weight", {ElementType::float32, {784, 10}},
                                             {graph::Initializer::Kind::uniform, 0.3, nullptr});
  const auto constant = [&](const std::string& name, float first) {
    std::vector<std::byte> bytes;
    for (int i = 0; i < 10; ++i) {
      const float value = first + static_cast<float>(i) / 7;
      const auto* from = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), from, from + sizeof(value));
    }
    return graph.addConstant(name, {ElementType::float32, {10}}, bytes);
  };
  const auto add = [&](const std::string& name, const std::string& op, std::vector<TensorId> inputs) {
    graph::Node node{{}, op, name, "A", model::Pass::forward, std::move(inputs), {}, {}};
    auto made = ops::appendNode(graph, std::move(node), {name + "/out"}, TensorRole::activation,
                                ops::standardOperators());
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    return made->front();
  };
  const TensorId product = add("product", "Gemm", {x, weight});
  const TensorId shift = add("shift", "Mul", {constant("a", 0.1F), constant("b", 0.3F)});
  const TensorId left = add("left", "Tanh", {product}), right = add("right", "Tanh", {product});
  const TensorId sum = add("sum", "Add", {left, right});
  const TensorId scores = add("scores", "Add", {sum, shift});
  graph.loss = add("loss", "SoftmaxCrossEntropyLoss", {scores, labels});
  graph.outputs = {scores};
  auto withGradients = compile::addGradients(graph, ops::standardOperators());
  PIPESCOPE_CHECK(withGradients.ok(), withGradients.error().message);
  return *withGradients;
}

struct CompilerPassesTrained {
  std::vector<float> losses;
  std::uint64_t hash = 0;
};

CompilerPassesTrained trainCompilerPasses(const graph::Graph& graph) {
  base::SerialExecutor executor;
  const auto made = session(graph, optimizer("adamw"), executor);
  CompilerPassesTrained trained;
  numerics::Results results;
  for (std::uint32_t step = 0; step < 4; ++step) {
    Batch batch;
    appendRows(batch, 3 + step, 8);
    EXPECT_TRUE(made->trainStep(batch.rows(), numerics::Keep::last, results).ok());
    trained.losses.insert(trained.losses.end(), results.losses.begin(), results.losses.end());
  }
  trained.hash = made->parameters().hash();
  return trained;
}

TEST(CompilerPasses, ChangeNodesButNoBits) {
  const graph::Graph plain = repetitive();
  const CompilerPassesTrained expected = trainCompilerPasses(plain);
  for (const std::string only : {"fold_constants", "common_subexpressions", ""}) {
    graph::Graph graph = plain;
    compile::PassRunner runner({ops::standardOperators(), {}, false},
                               [&](const std::string& name) { return only.empty() || name == only; });
    ASSERT_TRUE(runner.runOn(graph).ok());
    EXPECT_LT(graph.nodes().size(), plain.nodes().size()) << only;
    const CompilerPassesTrained trained = trainCompilerPasses(graph);
    EXPECT_EQ(trained.hash, expected.hash) << only;
    ASSERT_EQ(trained.losses.size(), expected.losses.size());
    EXPECT_EQ(
        std::memcmp(trained.losses.data(), expected.losses.data(), expected.losses.size() * sizeof(float)), 0)
        << only;
  }
}

/// Backward nodes repeat each other as soon as the forward nodes are merged.
TEST(CompilerPasses, ReachTheBackwardPass) {
  graph::Graph graph = repetitive();
  compile::PassRunner runner({ops::standardOperators(), {}, false}, [](const std::string&) { return true; });
  ASSERT_TRUE(runner.runOn(graph).ok());
  std::int64_t tanh = 0, gradients = 0;
  for (const graph::Node& node : graph.nodes()) {
    tanh += node.op == "Tanh" ? 1 : 0;
    gradients += node.op == "GradTanh" ? 1 : 0;
    EXPECT_NE(node.name, "shift");
  }
  EXPECT_EQ(tanh, 1);
  EXPECT_EQ(gradients, 1);
}

}  // namespace
}  // namespace pipescope::numerics_test
