// Tests passes over the graph: what they merge and what they must not change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "engine/compile/loss_scaling.h"
#include "engine/compile/passes/pass.h"
#include "engine/compile/passes/pass_keys.h"
#include "engine/compile/precision.h"
#include "engine/graph/validate.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::TensorId;
using graph::TensorRole;

std::vector<std::byte> graphPassesBytesOf(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Builds a graph. Blocks "A" and "B" are stages 0 and 1.
struct GraphPassesMaker {
  Graph graph;
  TensorId x = input("x", {4});

  TensorId input(const std::string& name, graph::Shape shape, ElementType type = ElementType::float32) {
    const TensorId id = graph.addTensor(name, {type, std::move(shape)}, TensorRole::input);
    graph.inputs.push_back(id);
    return id;
  }
  TensorId constant(const std::string& name, const std::vector<float>& values) {
    return graph.addConstant(name, {ElementType::float32, {static_cast<std::int64_t>(values.size())}},
                             graphPassesBytesOf(values));
  }
  TensorId node(const std::string& name, const std::string& op, std::vector<TensorId> inputs,
                const std::string& block = "A", model::Pass pass = model::Pass::forward,
                graph::Attributes attributes = {}) {
    graph::Node node{{}, op, name, block, pass, std::move(inputs), {}, std::move(attributes)};
    const auto role = pass == model::Pass::forward ? TensorRole::activation : TensorRole::gradient;
    auto made = ops::appendNode(graph, std::move(node), {name + "/out"}, role, ops::standardOperators());
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? made->front() : TensorId();
  }
};

PassEffect runGraphPasses(const std::string& only, Graph& graph, bool stochasticRounding = false) {
  PassRunner runner({ops::standardOperators(), {{"A", 0}, {"B", 1}}, stochasticRounding},
                    [&](const std::string& name) { return name == only; });
  const base::Status status = runner.runOn(graph);
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(graph::validate(graph).ok());
  EXPECT_TRUE(ops::checkShapes(graph, ops::standardOperators()).ok());
  for (const PassReport& report : runner.reports()) {
    EXPECT_EQ(report.enabled, report.name == only);
    if (report.name == only) return report.effect;
    EXPECT_EQ(report.effect.changes, 0) << report.name;
  }
  ADD_FAILURE() << "no pass " << only;
  return {};
}

std::vector<std::string> nodes(const Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes()) names.push_back(node.name);
  return names;
}

const graph::Tensor* find(const Graph& graph, const std::string& name) {
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

using testing::ElementsAre;

TEST(Precision, OperatorsMayStayInFloat32) {
  GraphPassesMaker m;
  const TensorId y = m.node("relu", "Relu", {m.x}), z = m.node("gelu", "Gelu", {y});
  m.graph.outputs = {m.node("neg", "Neg", {z})};
  const std::vector<std::string> wide{"Gelu"};
  auto made = withPrecision(m.graph, ElementType::float16, ops::standardOperators(), wide);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(graph::validate(*made).ok());
  EXPECT_TRUE(ops::checkShapes(*made, ops::standardOperators()).ok());
  EXPECT_THAT(nodes(*made), ElementsAre("relu", "gelu/float32_0", "gelu", "gelu/float16_0", "neg"));
  for (const auto& [name, type] : {std::pair{"relu/out", ElementType::float16},
                                   {"gelu/out", ElementType::float32},
                                   {"neg/out", ElementType::float16}})
    EXPECT_EQ(find(*made, name)->type.element, type) << name;
}

TEST(FoldConstants, ComputesWhatReadsConstantsOnly) {
  GraphPassesMaker make;
  const TensorId sum =
      make.node("sum", "Add", {make.constant("a", {1, 2, 3, 4}), make.constant("b", {10, 20, 30, 40})});
  const TensorId negative = make.node("negative", "Neg", {sum});
  make.graph.outputs = {make.node("out", "Mul", {make.x, negative})};
  const PassEffect effect = runGraphPasses("fold_constants", make.graph);
  EXPECT_EQ(effect.changes, 2);
  EXPECT_EQ(effect.bytes.count, 16);  // a and b, 32 B, become one constant of 16 B
  EXPECT_THAT(nodes(make.graph), ElementsAre("out"));
  const graph::Tensor* known = find(make.graph, "negative/out");
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->role, TensorRole::constant);
  EXPECT_EQ(*make.graph.constantValue(known->id), graphPassesBytesOf({-11, -22, -33, -44}));
  EXPECT_EQ(find(make.graph, "a"), nullptr);
  EXPECT_EQ(find(make.graph, "sum/out"), nullptr);
  ASSERT_EQ(effect.removed.at(0).size(), 2u);
}

TEST(FoldConstants, LeavesResultsRandomNumbersAndWhatChangesWithTheSteps) {
  GraphPassesMaker make;
  const TensorId scale = make.constant(kLossScaleTensor, {2, 2, 2, 2});
  const TensorId one = make.constant("one", {1, 1, 1, 1});
  const TensorId scaled = make.node("scaled", "Mul", {one, scale});
  const TensorId random = make.node("random", "Bernoulli", {one});
  make.graph.outputs = {make.node("out", "Sum", {make.x, scaled, random}), make.node("fixed", "Neg", {one})};
  EXPECT_EQ(runGraphPasses("fold_constants", make.graph).changes, 0);
  EXPECT_EQ(make.graph.nodes().size(), 4u);
}

TEST(FoldConstants, DoesNotKeepLargeTensorsThatAreCheapToMake) {
  const auto expand = [](std::int64_t elements) {
    GraphPassesMaker make;
    std::vector<std::byte> shape(sizeof(elements));
    std::memcpy(shape.data(), &elements, sizeof(elements));
    const TensorId to = make.graph.addConstant("to", {ElementType::int64, {1}}, shape);
    const TensorId wide = make.node("wide", "Expand", {make.constant("one", {1}), to});
    make.graph.outputs = {make.node("out", "Add", {make.input("y", {elements}), wide})};
    return runGraphPasses("fold_constants", make.graph).changes;
  };
  EXPECT_EQ(expand(1000), 1);
  EXPECT_EQ(expand(300'000), 0);  // a 4 B constant would become 1.2 MB
}

TEST(CommonSubexpressions, ComputesEqualNodesOnce) {
  GraphPassesMaker make;
  // The factors are two constants with the same value.
  const TensorId left = make.node("left", "Mul", {make.x, make.constant("half", {0.5F})});
  const TensorId right = make.node("right", "Mul", {make.x, make.constant("also_half", {0.5F})});
  const TensorId first = make.node("first", "Relu", {left}), second = make.node("second", "Relu", {right});
  make.graph.outputs = {make.node("out", "Add", {first, second})};
  const PassEffect effect = runGraphPasses("common_subexpressions", make.graph);
  EXPECT_EQ(effect.changes, 2);
  EXPECT_EQ(effect.bytes.count, 32);
  EXPECT_THAT(nodes(make.graph), ElementsAre("left", "first", "out"));
  EXPECT_EQ(find(make.graph, "also_half"), nullptr);
  const graph::Node& out = make.graph.nodes().back();
  EXPECT_EQ(out.inputs[0], out.inputs[1]);
}

TEST(CommonSubexpressions, LeavesOtherStagesPassesAttributesAndValues) {
  GraphPassesMaker make;
  const TensorId a = make.node("a", "Relu", {make.x});
  const TensorId b = make.node("b", "Relu", {make.x}, "B");
  const TensorId c = make.node("c", "Relu", {make.x}, "A", model::Pass::backward);
  const TensorId d = make.node("d", "LeakyRelu", {make.x}, "A", model::Pass::forward, {{"alpha", 0.1}});
  const TensorId e = make.node("e", "LeakyRelu", {make.x}, "A", model::Pass::forward, {{"alpha", 0.2}});
  const TensorId f = make.node("f", "Mul", {make.x, make.constant("two", {2.0F})});
  const TensorId g = make.node("g", "Mul", {make.x, make.constant("three", {3.0F})});
  make.graph.outputs = {a, b, c, d, e, f, g};
  EXPECT_EQ(runGraphPasses("common_subexpressions", make.graph).changes, 0);
}

TEST(CommonSubexpressions, LeavesRandomNumbersAndResults) {
  GraphPassesMaker make;
  const TensorId a = make.node("a", "Bernoulli", {make.x}), b = make.node("b", "Bernoulli", {make.x});
  const TensorId c = make.node("c", "Neg", {make.x}), d = make.node("d", "Neg", {make.x});
  make.graph.outputs = {make.node("out", "Sum", {a, b, c}), d};
  EXPECT_EQ(runGraphPasses("common_subexpressions", make.graph).changes, 0);
  EXPECT_EQ(make.graph.outputs.size(), 2u);
}

TEST(CommonSubexpressions, LeavesHalfResultsThatAreRoundedAtRandom) {
  const auto merged = [](bool stochasticRounding) {
    GraphPassesMaker make;
    const TensorId x = make.input("half", {4}, ElementType::float16);
    const TensorId a = make.node("a", "Exp", {x}), b = make.node("b", "Exp", {x});
    make.graph.outputs = {make.node("out", "Add", {a, b})};
    return runGraphPasses("common_subexpressions", make.graph, stochasticRounding).changes;
  };
  EXPECT_EQ(merged(false), 1);
  EXPECT_EQ(merged(true), 0);
}

TEST(Passes, HaveKeysThatAreOn) {
  ASSERT_GE(passRegistry().all().size(), 5u);
  const std::vector<config::Key> keys = passKeys(passRegistry());
  int last = -1;
  for (const PassDefinition& pass : passRegistry().all()) {
    const auto key = std::ranges::find(keys, "compile." + pass.name, &config::Key::path);
    ASSERT_NE(key, keys.end()) << pass.name;
    EXPECT_EQ(std::get<bool>(key->fallback), true) << pass.name;
    EXPECT_NE(pass.doc, "");
    EXPECT_GT(pass.order, last);
    last = pass.order;
  }
}

}  // namespace
}  // namespace pipescope::compile
