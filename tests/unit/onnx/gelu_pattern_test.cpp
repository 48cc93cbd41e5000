#include "engine/onnx/gelu_pattern.h"

#include <cmath>

#include "engine/ops/core/operator.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::onnx_test {
namespace {

using graph::TensorId;

struct Pattern : ::testing::Test {
  graph::Graph graph;
  TensorId x = graph.addTensor("x", {graph::ElementType::float32, {2, 3}}, graph::TensorRole::input);
  TensorId other = graph.addTensor("other", {graph::ElementType::float32, {2, 3}}, graph::TensorRole::input);

  TensorId number(float value, graph::Shape shape = {}) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    return graph.addConstant("c" + std::to_string(graph.tensors().size()),
                             {graph::ElementType::float32, std::move(shape)}, {raw.begin(), raw.end()});
  }
  TensorId node(const char* op, std::vector<TensorId> inputs) {
    graph::Node made;
    made.op = op;
    made.name = "n" + std::to_string(graph.nodes().size());
    made.inputs = std::move(inputs);
    return ops::appendNode(graph, made, {made.name}, graph::TensorRole::activation, ops::standardOperators())
        ->front();
  }
  TensorId gate(TensorId of) {
    return node("Add", {node("Erf", {node("Div", {of, number(std::sqrt(2.0F))})}), number(1)});
  }
};

TEST_F(Pattern, IsFoundInEveryOrderOfItsProducts) {
  const TensorId half = number(0.5F);
  EXPECT_EQ(onnx::geluArgument(graph, node("Mul", {x, gate(x)}), half), x);
  EXPECT_EQ(onnx::geluArgument(graph, half, node("Mul", {gate(x), x})), x);
  EXPECT_EQ(onnx::geluArgument(graph, node("Mul", {x, half}), gate(x)), x);
  EXPECT_EQ(onnx::geluArgument(graph, x, node("Mul", {half, gate(x)})), x);
  const TensorId byProduct =
      node("Add", {number(1), node("Erf", {node("Mul", {number(std::sqrt(0.5F)), x})})});
  EXPECT_EQ(onnx::geluArgument(graph, node("Mul", {x, byProduct}), half), x);
}

TEST_F(Pattern, IsNotSeenWhereAFactorDiffers) {
  const TensorId half = number(0.5F), whole = node("Mul", {x, gate(x)});
  EXPECT_EQ(onnx::geluArgument(graph, whole, number(0.51F)), std::nullopt);
  EXPECT_EQ(onnx::geluArgument(graph, whole, x), std::nullopt);
  EXPECT_EQ(onnx::geluArgument(graph, node("Mul", {other, gate(x)}), half), std::nullopt);
  const TensorId narrow = node("Add", {node("Erf", {node("Div", {x, number(1.5F)})}), number(1)});
  EXPECT_EQ(onnx::geluArgument(graph, node("Mul", {x, narrow}), half), std::nullopt);
  const TensorId shifted = node("Add", {node("Erf", {node("Div", {x, number(std::sqrt(2.0F))})}), number(2)});
  EXPECT_EQ(onnx::geluArgument(graph, node("Mul", {x, shifted}), half), std::nullopt);
  // A constant with more axes than x gives the product more axes, too.
  EXPECT_EQ(onnx::geluArgument(graph, whole, number(0.5F, {1, 1, 1})), std::nullopt);
}

}  // namespace
}  // namespace pipescope::onnx_test
