// Tests multi-convolutions: which convolutions form a group, what is refused, and that the operators of a
// group become one without changing what waits for what.
#include "engine/compile/multi_conv.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

#include "engine/compile/gradients.h"
#include "engine/compiler/model_compiler.h"
#include "engine/ops/standard_operators.h"
#include "engine/plan/split_costs.h"

namespace pipescope::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::TensorId;
using graph::TensorRole;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A network of convolutions that keep the extents of their input, relus and sums.
class ConvolutionNetwork {
 public:
  ConvolutionNetwork() {
    samples = graph.addTensor("samples", {graph::ElementType::float32, {4, 16, 14, 14}}, TensorRole::input);
    labels_ = graph.addTensor("labels", {graph::ElementType::int32, {4}}, TensorRole::input);
    graph.inputs = {samples, labels_};
  }

  TensorId conv(const std::string& name, TensorId x, const std::string& block = "A", std::int64_t kernel = 3,
                bool bias = true) {
    std::vector<TensorId> inputs{x, weight(name + "/weight", {16, 16, kernel, kernel})};
    if (bias) inputs.push_back(weight(name + "/bias", {16}));
    const std::int64_t pad = kernel / 2;
    return add("Conv", name, std::move(inputs), block, {{"pads", std::vector<std::int64_t>(4, pad)}});
  }
  TensorId relu(const std::string& name, TensorId x, const std::string& block = "A") {
    return add("Relu", name, {x}, block, {});
  }
  TensorId sum(const std::string& name, std::vector<TensorId> inputs, const std::string& block = "A") {
    return add("Sum", name, std::move(inputs), block, {});
  }

  /// The network with groups and a loss.
  base::Result<Graph> finish(TensorId x, const std::vector<MultiConvGroup>& groups,
                             const std::string& block = "A") {
    const TensorId pooled = add("GlobalAveragePool", "pool", {x}, block, {}),
                   scores = add("Flatten", "flatten", {pooled}, block, {});
    graph.loss = add("SoftmaxCrossEntropyLoss", "loss", {scores, labels_}, block, {});
    return withMultiConvs(graph, groups, ops::standardOperators());
  }

  Graph graph;
  TensorId samples;

 private:
  TensorId weight(const std::string& name, graph::Shape shape) {
    return graph.addParameter(name, {graph::ElementType::float32, std::move(shape)}, graph::Initializer{});
  }
  TensorId add(const std::string& op, const std::string& name, std::vector<TensorId> inputs,
               const std::string& block, graph::Attributes attributes) {
    Node node;
    node.op = op;
    node.name = name;
    node.block = block;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    auto made = ops::appendNode(graph, std::move(node), {name + "/out"}, TensorRole::activation,
                                ops::standardOperators());
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    return made->front();
  }

  TensorId labels_;
};

/// Two convolutions of one input whose results are added, with an operator between them.
Graph twoBranches(const std::vector<MultiConvGroup>& groups, std::int64_t kernel = 3) {
  ConvolutionNetwork network;
  const TensorId high = network.conv("oct/high/conv", network.samples),
                 active = network.relu("oct/relu", high),
                 low = network.conv("oct/low/conv", network.samples, "A", kernel);
  auto made = network.finish(network.sum("oct/sum", {active, low}), groups);
  PIPESCOPE_CHECK(made.ok(), made.error().message);
  return std::move(made).value();
}

const std::vector<MultiConvGroup> kPair{{"multi_conv", {"/oct/*"}}};

base::Result<Compilation> compiledTraining(const Graph& graph, const std::set<std::string>& off = {},
                                           const std::string& system = "pod4") {
  ModelRequest request;
  ExecutableRequest training;
  training.forward = std::make_shared<const Graph>(graph);
  training.microBatches = 2;
  request.executables = {training};
  request.update.optimizer = std::move(*optimizers::createOptimizer("sgd", {}));
  request.passesOff = off;
  request.system = system;
  request.layout.whole = true;
  base::SerialExecutor executor;
  return compileModel(request, executor);
}

/// The cycles of the operators of training whose names contain the text, by "kind name".
std::map<std::string, std::int64_t> cyclesOf(const Compilation& compilation, const std::string& text) {
  std::map<std::string, std::int64_t> cycles;
  for (const devices::LoweredPass& pass : compilation.executables.front().lowered.front().passes) {
    for (const devices::LoweredSegment& segment : pass.segments) {
      for (const devices::LoweredStep& step : segment.steps) {
        if (step.op < 0) continue;
        const devices::LoweredOperator& op = pass.operators[static_cast<std::size_t>(step.op)];
        if (op.name.find(text) != std::string::npos) cycles[op.kind + " " + op.name] += step.ticks.count;
      }
    }
  }
  return cycles;
}

/// Kinds of the operators that a pass of a stage runs. Checks that each tensor is made before it is read, if
/// the IR makes it in the same pass.
std::multiset<std::string> checkedOrder(const PassIr& pass) {
  std::multiset<std::string> kinds;
  std::set<IrTensorId> made;
  for (const IrOperator& op : pass.operators) made.insert(op.outputs.begin(), op.outputs.end());
  std::set<IrTensorId> there;
  for (const IrOperator& op : pass.operators) {
    for (const IrTensorId input : op.inputs) {
      const bool updated = std::ranges::find(op.outputs, input) != op.outputs.end();
      EXPECT_TRUE(updated || !made.contains(input) || there.contains(input)) << op.name;
    }
    there.insert(op.outputs.begin(), op.outputs.end());
    kinds.insert(op.kind);
  }
  return kinds;
}

const PassIr& passOf(const Compilation& compilation, model::Pass pass) {
  for (const PassIr& each : compilation.executables.front().ir.stages.front().passes) {
    if (each.pass == pass) return each;
  }
  throw std::runtime_error("no such pass");
}

TEST(MultiConv, GroupsAreNamedBelowTheLayerThatTheyShare) {
  const Graph graph = twoBranches(kPair);
  std::map<std::string, std::string> groups;
  const auto training = addGradients(graph, ops::standardOperators());
  ASSERT_TRUE(training.ok()) << training.error().message;
  for (const Node& node : training->nodes()) {
    if (const std::string group = graph::stringAttribute(node, kMultiConv, ""); !group.empty())
      groups[node.name] = group;
  }
  // Nothing trainable lies before the samples, so they have no gradient.
  EXPECT_EQ(groups, (std::map<std::string, std::string>{{"oct/high/conv", "oct/multi_conv"},
                                                        {"oct/low/conv", "oct/multi_conv"},
                                                        {"oct/high/conv/grad_weight", "oct/multi_conv"},
                                                        {"oct/low/conv/grad_weight", "oct/multi_conv"}}));
}

TEST(MultiConv, RefusesGroupsThatAreWritten) {
  const auto refusal = [](const std::vector<MultiConvGroup>& groups) {
    ConvolutionNetwork network;
    const TensorId a = network.conv("a", network.samples), b = network.conv("b", network.samples);
    const auto made = network.finish(network.sum("sum", {a, b}), groups);
    return made.ok() ? "" : made.error().message;
  };
  EXPECT_EQ(refusal({{"m", {"a", "b"}}}), "");
  EXPECT_THAT(refusal({{"m", {"a", "sum"}}}), HasSubstr("\"m\" names \"sum\", but no convolution"));
  EXPECT_THAT(refusal({{"m", {}}}), HasSubstr("\"m\" names no operators"));
  EXPECT_THAT(refusal({{"m", {"a", "b"}}, {"n", {"b"}}}), HasSubstr("puts b into the groups m and n"));
  EXPECT_THAT(refusal({{"sum", {"a", "b"}}}), HasSubstr("an operator called sum, but there is one"));
  EXPECT_THAT(refusal({{"m", {"a"}}, {"m", {"b"}}}), HasSubstr("an operator called m, but there is one"));
}

TEST(MultiConv, RefusesConvolutionsThatDependOnEachOther) {
  ConvolutionNetwork network;
  const TensorId a = network.conv("a", network.samples), b = network.conv("b", network.relu("relu", a));
  const auto made = network.finish(b, {{"m", {"a", "b"}}});
  ASSERT_TRUE(made.ok());
  const auto compiled = compiledTraining(*made);
  ASSERT_FALSE(compiled.ok());
  EXPECT_THAT(compiled.error().message,
              AllOf(HasSubstr("m holds a and b, which needs the result of the first"),
                    HasSubstr("take one of them out")));
}

TEST(MultiConv, RefusesGroupsThatWaitForEachOther) {
  // Each group alone is fine: b needs a, and d needs c, but {a, d} and {b, c} need each other.
  ConvolutionNetwork network;
  const TensorId a = network.conv("a", network.samples), b = network.conv("b", a),
                 c = network.conv("c", network.samples), d = network.conv("d", c);
  const auto made = network.finish(network.sum("sum", {b, d}), {{"m", {"a", "d"}}, {"n", {"b", "c"}}});
  ASSERT_TRUE(made.ok());
  const base::Status status = checkMultiConvs(*made, {{{"A"}, 0}});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("m and n need results of each other"));
}

TEST(MultiConv, RefusesOtherStagesAndOtherDevices) {
  ConvolutionNetwork network;
  const TensorId a = network.conv("a", network.samples, "A"), b = network.conv("b", network.samples, "B");
  const auto made = network.finish(network.sum("sum", {a, b}, "B"), {{"m", {"a", "b"}}}, "B");
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(checkMultiConvs(*made, {{{"A", "B"}, 0}}).ok());
  const base::Status status = checkMultiConvs(*made, {{{"A"}, 0}, {{"B"}, 1}});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              AllOf(HasSubstr("a in stage 0 and b in stage 1"), HasSubstr("one stage")));
  const auto gaudi = compiledTraining(*made, {}, "gaudi2");
  ASSERT_FALSE(gaudi.ok());
  EXPECT_THAT(gaudi.error().message, HasSubstr("the framework of system gaudi2 has none"));
}

TEST(MultiConv, BecomesOneOperatorForEachProduct) {
  const auto made = compiledTraining(twoBranches(kPair), {"fuse_elementwise", "common_subexpressions"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::multiset<std::string> forward = checkedOrder(passOf(*made, model::Pass::forward)),
                                   backward = checkedOrder(passOf(*made, model::Pass::backward));
  EXPECT_EQ(forward.count("MultiConv"), 1u);
  EXPECT_EQ(forward.count("ConvBias"), 2u);
  EXPECT_EQ(forward.count("Conv"), 0u);
  EXPECT_EQ(forward.count("Relu"), 1u);
  EXPECT_EQ(backward.count("MultiGradConvWeight"), 1u);
  EXPECT_EQ(backward.count("GradConvWeight"), 0u);
  for (const IrOperator& op : passOf(*made, model::Pass::forward).operators) {
    if (op.kind != "MultiConv") continue;
    EXPECT_EQ(op.name, "oct/multi_conv");
    EXPECT_EQ(op.work.size(), 2u);
    EXPECT_EQ(op.inputs.size(), 3u) << "the samples, which both read, and two weights";
    EXPECT_EQ(op.outputs.size(), 2u);
  }
  EXPECT_THAT(cyclesOf(*made, "oct/multi_conv"),
              ElementsAre(testing::Key("MultiConv oct/multi_conv"),
                          testing::Key("MultiGradConvWeight oct/multi_conv/grad_weight")));
}

TEST(MultiConv, SwitchedOffNothingChanges) {
  const auto plain = compiledTraining(twoBranches({})),
             off = compiledTraining(twoBranches(kPair), {"join_convolutions"});
  ASSERT_TRUE(plain.ok() && off.ok());
  EXPECT_EQ(cyclesOf(*plain, ""), cyclesOf(*off, ""));
}

TEST(MultiConv, TakesAtMostAsLongAsItsConvolutionsOneAfterAnother) {
  for (const std::int64_t kernel : {1, 3, 5}) {
    const auto joint = compiledTraining(twoBranches(kPair, kernel)),
               single = compiledTraining(twoBranches({}, kernel));
    ASSERT_TRUE(joint.ok() && single.ok());
    std::int64_t together = 0, apart = 0;
    for (const auto& [name, cycles] : cyclesOf(*joint, "oct/")) together += cycles;
    for (const auto& [name, cycles] : cyclesOf(*single, "oct/")) apart += cycles;
    EXPECT_GT(together, 0);
    EXPECT_LE(together, apart) << kernel;
  }
}

TEST(MultiConv, StaysInOneStageWhenAModelIsSplit) {
  const Graph graph = twoBranches(kPair);
  const std::vector<graph::NodeId> order = plan::splitOrder(graph, ops::standardOperators());
  const std::vector<bool> with = plan::splitBorders(graph, order),
                          without = plan::splitBorders(twoBranches({}), order);
  std::vector<std::string> closed;
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (without[place] && !with[place]) closed.push_back(graph.node(order[place]).name);
  }
  EXPECT_THAT(closed, ElementsAre("oct/relu", "oct/low/conv"));
}

/// Random networks with random groups: a group that is not refused becomes one operator, and each operator
/// still runs behind those that it needs.
TEST(MultiConv, RandomGroupsKeepTheOrderOfWhatDepends) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int accepted = 0;
  for (int round = 0; round < 30; ++round) {
    ConvolutionNetwork network;
    std::vector<TensorId> values{network.samples};
    std::vector<MultiConvGroup> groups{{"m0", {}}, {"m1", {}}};
    for (int i = 0; i < 9; ++i) {
      const TensorId x = values[below(values.size())], y = values[below(values.size())];
      const std::string name = "op" + std::to_string(i);
      const std::size_t what = below(4);
      if (what < 2) {
        values.push_back(
            network.conv(name, x, "A", 1 + 2 * static_cast<std::int64_t>(below(2)), below(2) == 0));
        if (const std::size_t group = below(3); group < 2) groups[group].operators.push_back(name);
      } else if (what == 2) {
        values.push_back(network.relu(name, x));
      } else {
        values.push_back(network.sum(name, {x, y}));
      }
    }
    std::erase_if(groups, [](const MultiConvGroup& group) { return group.operators.size() < 2; });
    values.push_back(network.conv("head", values.back()));
    const auto graph = network.finish(network.sum("all", values), groups);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto made = compiledTraining(*graph, {"common_subexpressions", "fuse_elementwise"});
    if (!made.ok()) {
      EXPECT_THAT(made.error().message, HasSubstr("multi-convolution")) << round;
      continue;
    }
    accepted += groups.empty() ? 0 : 1;
    EXPECT_EQ(checkedOrder(passOf(*made, model::Pass::forward)).count("MultiConv"), groups.size()) << round;
    EXPECT_EQ(checkedOrder(passOf(*made, model::Pass::backward)).count("MultiGradConvWeight"), groups.size())
        << round;
  }
  EXPECT_GE(accepted, 5);
}

}  // namespace
}  // namespace pipescope::compile
