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

std::vector<std::int64_t> axesAt(const Graph& graph, const std::string& name) {
  for (const graph::Node& node : graph.nodes()) {
    if (node.name == name) return graph::intsAttribute(node, "axes", {});
  }
  ADD_FAILURE() << "no node " << name;
  return {};
}

TEST(Float8Pass, BlocksLieAlongTheAxesOverWhichProductsSum) {
  Float8Model model;
  Float8Request request;
  request.blocks = true;
  request.forward = request.gradient = ElementType::float4_121;
  EXPECT_THAT(axesAt(model.cast(request), "first/float8_input"), ElementsAre(-1)) << "x is only multiplied";
  model.addGradients();
  const Graph made = model.cast(request);
  // x is the left factor of x·w0, which sums over columns, and of xᵀ·dy, which sums over rows.
  EXPECT_THAT(axesAt(made, "first/float8_input"), ElementsAre(-1, -2));
  EXPECT_THAT(axesAt(made, "first/float8_weight"), ElementsAre(-2));
  EXPECT_THAT(axesAt(made, "first"), ElementsAre(-1, -2));
  EXPECT_THAT(axesAt(made, "first/grad_weight"), ElementsAre(-2, -2));
  // dy·w1ᵀ sums over the columns of both.
  EXPECT_THAT(axesAt(made, "last/grad_input"), ElementsAre(-1, -1));
  EXPECT_THAT(axesAt(made, "last/grad_input/float8_gradient"), ElementsAre(-1, -2));
  EXPECT_THAT(operatorsOf(made, "Float4Gemm"), Contains("last"));
  EXPECT_THAT(operatorsOf(made, "Float8"), ElementsAre());
  EXPECT_THAT(typesAt(made, "first"),
              ElementsAre(ElementType::float4_121, ElementType::float4_121, ElementType::bfloat16));
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

TEST(Float8Pass, DevicesMayKeepCastWeightsFromUpdateToUpdate) {
  Float8Model model;
  model.addGradients();
  Float8Request request;
  request.keepsWeights = true;
  const Graph made = model.cast(request);
  // The backward pass multiplies with what the forward pass cast.
  EXPECT_THAT(operatorsOf(made, "Float8Cast"),
              UnorderedElementsAre("first/float8_input", "first/float8_weight", "last/float8_input",
                                   "last/float8_weight", "last/grad_input/float8_gradient",
                                   "first/grad_weight/float8_gradient"));
  IrOptions options;
  options.stashEntries = {0};
  options.optimizer.work = [](const graph::TensorType&) { return std::vector<ops::Work>(); };
  options.optimizer.states = [](const graph::TensorType&) { return std::vector<OptimizerCost::State>(); };
  const auto ir = buildIr(made, {{{"A"}, 0}}, options, ops::standardOperators());
  ASSERT_TRUE(ir.ok()) << ir.error().message;
  std::map<model::Pass, std::vector<std::string>> casts;
  for (const PassIr& pass : ir->stages[0].passes) {
    for (const IrOperator& op : pass.operators) {
      if (op.name.ends_with("float8_weight")) casts[pass.pass].push_back(op.name);
    }
  }
  EXPECT_EQ(casts.size(), 1U) << "only the update casts weights";
  EXPECT_THAT(casts[model::Pass::update], ElementsAre("first/float8_weight", "last/float8_weight"));
  std::vector<std::string> weights;
  for (const IrTensor& tensor : ir->stages[0].tensors) {
    if (tensor.use == TensorUse::weight) weights.push_back(tensor.name + " " + toString(tensor.type));
  }
  EXPECT_THAT(weights, UnorderedElementsAre("w0 6x5 bfloat16", "w1 5x3 bfloat16", "bias 3 bfloat16",
                                            "w0/float8 6x5 float8_143fn", "w1/float8 5x3 float8_143fn"));
}

TEST(Float8Pass, RanksGatherWhatIsCast) {
  Graph graph;
  const TensorId x = graph.addTensor("x", {ElementType::bfloat16, {32, 6}}, TensorRole::input);
  graph.inputs = {x};
  const TensorId w = graph.addParameter("w", {ElementType::bfloat16, {6, 5}}, {});
  const auto append = [&](const std::string& name, const std::string& op, std::vector<TensorId> inputs,
                          graph::Attributes attributes) {
    graph::Node node{{}, op, name, "A", model::Pass::forward, std::move(inputs), {}, std::move(attributes)};
    return ops::appendNode(graph, std::move(node), {name + "/out"}, TensorRole::activation,
                           ops::standardOperators())
        ->front();
  };
  const TensorId whole =
      append("gather", "RankGather", {x},
             {{"ranks", std::int64_t{4}}, {"mesh_axis", std::string("tensor")}, {"axis", std::int64_t{0}}});
  graph.outputs = {append("product", "MatMul", {whole, w}, {})};
  Float8Request request;
  for (const bool blocks : {false, true}) {
    request.blocks = blocks;
    const Graph made = *withFloat8(graph, request, false, ops::standardOperators());
    EXPECT_THAT(typesAt(made, "product"),
                ElementsAre(ElementType::float8_143fn, ElementType::float8_143fn, ElementType::bfloat16));
    for (const graph::Node& node : made.nodes()) {
      if (node.name == "product/float8_input") {
        EXPECT_EQ(made.tensor(node.inputs[0]).type.shape, (graph::Shape{32, 6})) << "a rank's own rows";
      }
      if (node.name == "product") {
        EXPECT_EQ(made.node(made.tensor(node.inputs[0]).producer).op, "RankGather");
        EXPECT_EQ(made.tensor(node.inputs[0]).type.shape, (graph::Shape{128, 6}));
      }
    }
  }
  // A block of float4 has a scale of the whole tensor besides, so the gathered tensor is cast.
  request.forward = request.gradient = ElementType::float4_121;
  const Graph made = *withFloat8(graph, request, false, ops::standardOperators());
  for (const graph::Node& node : made.nodes()) {
    if (node.name == "product/float8_input") {
      EXPECT_EQ(made.tensor(node.inputs[0]).type.shape, (graph::Shape{128, 6}));
    }
  }
}

}  // namespace
}  // namespace pipescope::compile
