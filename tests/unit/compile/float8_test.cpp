// Float8 for products: what is cast, what is not, and what devices hold.
#include "engine/compile/float8_casts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/compile/gradients.h"
#include "engine/compile/ir_builder.h"
#include "engine/compile/precision.h"
#include "engine/graph/validate.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::TensorId;
using graph::TensorRole;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

/// Two layers with a product of activations between them: h = x·w0, s = h·hᵀ, y = s·h·w1, in bfloat16.
struct Float8Model {
  Graph graph;

  Float8Model() {
    const TensorId x = graph.addTensor("x", {ElementType::float32, {4, 6}}, TensorRole::input);
    graph.inputs = {x};
    const TensorId w0 = weight("w0", {6, 5}), w1 = weight("w1", {5, 3}), bias = weight("bias", {3});
    const TensorId h = node("first", "MatMul", {x, w0});
    const TensorId turned = node("turn", "Transpose", {h});
    const TensorId scores = node("scores", "MatMul", {h, turned});
    const TensorId context = node("context", "MatMul", {scores, h});
    const TensorId y = node("last", "Gemm", {context, w1, bias});
    graph.outputs = {y};
    graph.loss = node("loss", "ReduceSum", {y}, {{"keepdims", std::int64_t{0}}});
    graph = *withPrecision(graph, ElementType::bfloat16, ops::standardOperators());
  }
  TensorId weight(const std::string& name, graph::Shape shape) {
    return graph.addParameter(name, {ElementType::float32, std::move(shape)}, {});
  }
  TensorId node(const std::string& name, const std::string& op, std::vector<TensorId> inputs,
                graph::Attributes attributes = {}) {
    graph::Node node{{}, op, name, "A", model::Pass::forward, std::move(inputs), {}, std::move(attributes)};
    auto made = ops::appendNode(graph, std::move(node), {name + "/out"}, TensorRole::activation,
                                ops::standardOperators());
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made->front();
  }
  void addGradients() { graph = *compile::addGradients(graph, ops::standardOperators()); }

  Graph cast(const Float8Request& request, bool weightsReady = false) const {
    auto made = withFloat8(graph, request, weightsReady, ops::standardOperators());
    EXPECT_TRUE(made.ok()) << made.error().message;
    EXPECT_TRUE(graph::validate(*made).ok());
    EXPECT_TRUE(ops::checkShapes(*made, ops::standardOperators()).ok());
    return *made;
  }
};

std::vector<std::string> operatorsOf(const Graph& graph, const std::string& prefix) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes()) {
    if (node.op.starts_with(prefix)) names.push_back(node.name);
  }
  return names;
}

/// The types that a node multiplies, and that of its result.
std::vector<ElementType> typesAt(const Graph& graph, const std::string& name) {
  for (const graph::Node& node : graph.nodes()) {
    if (node.name != name) continue;
    return {graph.tensor(node.inputs[0]).type.element, graph.tensor(node.inputs[1]).type.element,
            graph.tensor(node.outputs[0]).type.element};
  }
  ADD_FAILURE() << "no node " << name;
  return {};
}

TEST(Float8Pass, CastsTheFactorsOfProductsWithWeights) {
  const Float8Model model;
  const Graph made = model.cast({});
  EXPECT_THAT(operatorsOf(made, "Float8Cast"), ElementsAre("first/float8_input", "first/float8_weight",
                                                           "last/float8_input", "last/float8_weight"));
  EXPECT_THAT(typesAt(made, "first"),
              ElementsAre(ElementType::float8_143fn, ElementType::float8_143fn, ElementType::bfloat16));
  EXPECT_THAT(typesAt(made, "scores"),
              ElementsAre(ElementType::bfloat16, ElementType::bfloat16, ElementType::bfloat16));
  EXPECT_THAT(operatorsOf(made, "Float8Gemm"), ElementsAre("last"));
}

TEST(Float8Pass, CastsGradientsToTheOtherTypeAndKeepsWeights) {
  Float8Model model;
  model.addGradients();
  const Graph made = model.cast({});
  // The backward pass uses the inputs that the forward pass cast, and casts weights and gradients itself.
  EXPECT_THAT(operatorsOf(made, "Float8Cast"),
              UnorderedElementsAre("first/float8_input", "first/float8_weight", "last/float8_input",
                                   "last/float8_weight", "last/grad_input/float8_gradient",
                                   "last/grad_input/float8_weight", "first/grad_weight/float8_gradient"));
  EXPECT_THAT(typesAt(made, "last/grad_input"),
              ElementsAre(ElementType::float8_152, ElementType::float8_143fn, ElementType::bfloat16));
  EXPECT_THAT(typesAt(made, "first/grad_weight"),
              ElementsAre(ElementType::float8_143fn, ElementType::float8_152, ElementType::bfloat16));
  EXPECT_THAT(typesAt(made, "scores/grad_input"), Contains(ElementType::bfloat16));
  ASSERT_EQ(made.parameterGradients.size(), 3u);
  for (const auto& [parameter, gradient] : made.parameterGradients) {
    EXPECT_EQ(made.tensor(parameter).type.element, ElementType::bfloat16);
    EXPECT_EQ(made.tensor(gradient).type, made.tensor(parameter).type);
  }
}

TEST(Float8Pass, AllProductsAndExceptions) {
  const Float8Model model;
  Float8Request request;
  request.allProducts = true;
  request.except = {"first"};
  const Graph made = model.cast(request);
  EXPECT_THAT(operatorsOf(made, "Float8MatMul"), ElementsAre("scores", "context"));
  EXPECT_THAT(operatorsOf(made, "MatMul"), ElementsAre("first"));
  request.except = {"second"};
  EXPECT_THAT(
      withFloat8(model.graph, request, false, ops::standardOperators()).error().message,
      HasSubstr("execution.float8_except names \"second\", but no product of the model is called so"));
}

TEST(Float8Pass, FixedScalesAreAttributes) {
  const Float8Model model;
  Float8Request request;
  request.currentScales = false;
  request.activationScale = 3;
  request.weightScale = -2;
  const Graph made = model.cast(request);
  for (const graph::Node& node : made.nodes()) {
    if (node.op == "Float8Cast") {
      EXPECT_EQ(node.outputs.size(), 1u);
      EXPECT_EQ(graph::intAttribute(node, "scale", 0), node.name.ends_with("weight") ? -2 : 3);
    }
    if (node.op == "Float8MatMul") {
      EXPECT_THAT(graph::intsAttribute(node, "scales", {}), ElementsAre(3, -2));
    }
  }
}

TEST(Float8Pass, DevicesHoldWeightsThatNeverChangeInFloat8) {
  const Float8Model model;
  const auto planOf = [](const Graph& graph) {
    IrOptions options;
    options.kind = model::ExecutableKind::inference;
    options.stashEntries = {0};
    const auto ir = buildIr(graph, {{{"A"}, 0}}, options, ops::standardOperators());
    EXPECT_TRUE(ir.ok()) << ir.error().message;
    std::vector<std::string> weights;
    for (const IrTensor& tensor : ir->stages[0].tensors) {
      if (tensor.use == TensorUse::weight) weights.push_back(tensor.name + " " + toString(tensor.type));
    }
    std::vector<std::string> operators;
    for (const PassIr& pass : ir->stages[0].passes) {
      for (const IrOperator& op : pass.operators) operators.push_back(op.name);
    }
    return std::pair(weights, operators);
  };
  const auto [ready, readyOperators] = planOf(model.cast({}, true));
  EXPECT_THAT(ready, UnorderedElementsAre("w0/float8 6x5 float8_143fn", "w1/float8 5x3 float8_143fn",
                                          "bias 3 bfloat16"));
  EXPECT_THAT(readyOperators, Not(Contains("first/float8_weight")));
  EXPECT_THAT(readyOperators, Contains("first/float8_input"));
  const auto [cast, castOperators] = planOf(model.cast({}, false));
  EXPECT_THAT(cast, UnorderedElementsAre("w0 6x5 bfloat16", "w1 5x3 bfloat16", "bias 3 bfloat16"));
  EXPECT_THAT(castOperators, Contains("first/float8_weight"));
}

}  // namespace
}  // namespace pipescope::compile
