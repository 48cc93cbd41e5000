// Tests that each boundary between stages carries one gradient for each tensor, and that stages on one device
// share the accumulator of tied weights.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "engine/builders/builder.h"
#include "engine/compile/gradients.h"
#include "engine/compile/ir_builder.h"
#include "engine/compile/local_sums.h"
#include "engine/graph/validate.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

graph::Graph smallModel(const std::string& builder, bool tied) {
  std::map<std::string, builders::Setting> values{
      {"layers", std::int64_t{3}},       {"hidden", std::int64_t{8}},   {"heads", std::int64_t{2}},
      {"feed_forward", std::int64_t{8}}, {"sequence", std::int64_t{4}}, {"vocabulary", std::int64_t{64}}};
  if (tied) values["tie_embeddings"] = true;
  auto forward = builders::buildModel({builder, values, 1, true}, ops::standardOperators());
  PIPESCOPE_CHECK(forward.ok(), forward.error().message);
  auto made = addGradients(*forward, ops::standardOperators());
  PIPESCOPE_CHECK(made.ok(), made.error().message);
  return std::move(made).value();
}

ExecutableIr localSumsPlan(const graph::Graph& graph, const std::vector<StageSpec>& stages) {
  IrOptions options;
  options.microBatches = 4;
  options.stashEntries.resize(stages.size());
  options.optimizer.kind = "sgd";
  options.optimizer.states = [](const graph::TensorType&) { return std::vector<OptimizerCost::State>(); };
  options.optimizer.work = [](const graph::TensorType& type) {
    return std::vector<ops::Work>{{ops::Map{ops::MapFunction::add, type.elements(), 2}, 1, ""}};
  };
  auto built = buildIr(graph, stages, options, ops::standardOperators());
  PIPESCOPE_CHECK(built.ok(), built.error().message);
  return std::move(built).value();
}

std::vector<BoundaryTensor> gradientsSent(const ExecutableIr& ir, int from) {
  std::vector<BoundaryTensor> sent;
  for (const BoundaryTensor& b : ir.boundaries) {
    if (b.kind == model::TransferKind::gradient && b.fromStage == from) sent.push_back(b);
  }
  return sent;
}

const IrOperator* operatorNamed(const StageIr& stage, const std::string& name) {
  for (const PassIr& pass : stage.passes) {
    for (const IrOperator& op : pass.operators) {
      if (op.name == name) return &op;
    }
  }
  return nullptr;
}

TEST(LocalSums, AStageSendsOneGradientOfALayersInput) {
  const graph::Graph graph = smallModel("bert", false);
  const ExecutableIr ir = localSumsPlan(
      graph, {{{"embeddings", "encoder/layer0"}, 0}, {{"encoder/layer1", "encoder/layer2", "head"}, 1}});
  const std::vector<BoundaryTensor> sent = gradientsSent(ir, 1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].type.bytes().count, 4 * 8 * 4);
  EXPECT_EQ(sent[0].toStage, 0);
  // Query, key, value and the residual sum read the layer's input.
  const IrOperator* sum = operatorNamed(ir.stages[1], sent[0].name);
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->kind, "Sum");
  EXPECT_EQ(sum->inputs.size(), 4u);
  EXPECT_EQ(operatorNamed(ir.stages[0], sent[0].name), nullptr);
}

/// One tensor of the first stage, which each of three stages reads.
TEST(LocalSums, EachStageAddsItsPartOnTheWay) {
  graph::Graph graph;
  const graph::TensorType type{graph::ElementType::float32, {2, 2}};
  const auto add = [&](const std::string& op, const std::string& name, const std::string& block,
                       std::vector<graph::TensorId> inputs) {
    graph::Node node;
    node.op = op;
    node.name = name;
    node.block = block;
    node.inputs = std::move(inputs);
    return ops::appendNode(graph, std::move(node), {name}, graph::TensorRole::activation,
                           ops::standardOperators())
        .value()
        .front();
  };
  const auto x = graph.addTensor("x", type, graph::TensorRole::input);
  const auto labels = graph.addTensor("labels", {graph::ElementType::int32, {2}}, graph::TensorRole::input);
  graph.inputs = {x, labels};
  const auto weight = graph.addParameter("weight", type, graph::Initializer{});
  const auto y = add("MatMul", "y", "A", {x, weight});
  const auto a = add("Relu", "a", "A", {y});
  const auto b = add("Mul", "b", "B", {a, y});
  const auto c = add("Mul", "c1", "C", {b, y}), d = add("Mul", "c2", "C", {c, y});
  graph.loss = add("SoftmaxCrossEntropyLoss", "loss", "C", {d, labels});
  const graph::Graph whole = addGradients(graph, ops::standardOperators()).value();
  const std::vector<StageSpec> stages{{{"A"}, 0}, {{"B"}, 1}, {{"C"}, 2}};
  EXPECT_FALSE(withLocalSums(whole, {{{"A", "B", "C"}, 0}})) << "one stage makes all gradients";
  const auto sums = withLocalSums(whole, stages);
  ASSERT_TRUE(sums);
  EXPECT_TRUE(graph::validate(sums->graph).ok());
  EXPECT_TRUE(sums->partial.empty());
  EXPECT_EQ(sums->graph.parameterGradients, whole.parameterGradients);
  const ExecutableIr ir = localSumsPlan(whole, stages);
  const auto names = [&](int from) {
    std::set<std::string> found;
    for (const BoundaryTensor& sent : gradientsSent(ir, from)) found.insert(sent.name);
    return found;
  };
  const IrOperator *last = operatorNamed(ir.stages[2], "y/grad_sum/stage2"),
                   *middle = operatorNamed(ir.stages[1], "y/grad_sum/stage1"),
                   *first = operatorNamed(ir.stages[0], "y/grad_sum");
  ASSERT_TRUE(last && middle && first);
  EXPECT_EQ(last->inputs.size(), 2u);    // both products of C
  EXPECT_EQ(middle->inputs.size(), 2u);  // C and B
  EXPECT_EQ(first->inputs.size(), 2u);   // both and A's relu
  EXPECT_EQ(names(2), (std::set<std::string>{"y/grad_sum/stage2", "c1/grad_0"}));
  EXPECT_TRUE(names(1).contains("y/grad_sum/stage1"));
  EXPECT_EQ(names(1).size(), 2u);
}

TEST(LocalSums, TiedWeightsShareAnAccumulator) {
  const graph::Graph graph = smallModel("decoder", true);
  const std::vector<StageSpec> stages{
      {{"embeddings"}, 0}, {{"decoder/layer0", "decoder/layer1", "decoder/layer2"}, 1}, {{"head"}, 0}};
  const auto placed = placeStages(graph, stages);
  ASSERT_TRUE(placed.ok()) << placed.error().message;
  const auto sums = withLocalSums(graph, stages);
  ASSERT_TRUE(sums && sums->partial.size() == 2);
  EXPECT_FALSE(sums->partial[0].updates);
  EXPECT_TRUE(sums->partial[1].updates);
  EXPECT_EQ(sums->graph.parameterGradients.size() + 1, graph.parameterGradients.size());
  const ExecutableIr ir = localSumsPlan(graph, stages);
  // A table of 64 rows is larger than any activation. None crosses a boundary.
  for (const BoundaryTensor& b : ir.boundaries) EXPECT_LE(b.type.bytes().count, 4 * 8 * 4) << b.name;
  int accumulators = 0, updates = 0, added = 0;
  for (const StageIr& stage : ir.stages) {
    for (const IrTensor& tensor : stage.tensors) {
      if (tensor.use == TensorUse::accumulator && tensor.type.elements() == 64 * 8 && !tensor.shared)
        ++accumulators;
    }
    for (const PassIr& pass : stage.passes) {
      for (const IrOperator& op : pass.operators) {
        const bool table = !op.outputs.empty() && op.outputs[0].valid() &&
                           stage.tensors[op.outputs[0]].type.elements() == 64 * 8;
        added += table && op.kind == "Accumulate" ? 1 : 0;
        updates += table && op.kind == "sgd" ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(accumulators, 1);
  EXPECT_EQ(added, 2);
  EXPECT_EQ(updates, 1);
}

const std::vector<StageSpec> kTiedApart{
    {{"embeddings"}, 0}, {{"decoder/layer0", "decoder/layer1", "decoder/layer2"}, 1}, {{"head"}, 2}};

/// The operators of a stage whose first result is the table of 64 rows, or its gradient.
std::vector<const IrOperator*> ofTable(const StageIr& stage, model::Pass pass) {
  std::vector<const IrOperator*> found;
  for (const PassIr& each : stage.passes) {
    for (const IrOperator& op : each.operators) {
      if (each.pass == pass && !op.outputs.empty() && op.outputs[0].valid() &&
          stage.tensors[op.outputs[0]].type.elements() == 64 * 8)
        found.push_back(&op);
    }
  }
  return found;
}

TEST(LocalSums, PlacesThatHoldATiedWeightAddUpItsGradient) {
  const graph::Graph graph = smallModel("decoder", true);
  ASSERT_FALSE(placeStages(graph, kTiedApart).ok());
  ASSERT_TRUE(placeStages(graph, kTiedApart, true).ok());
  const std::vector<TiedWeight> tied = tiedWeights(graph, kTiedApart);
  ASSERT_EQ(tied.size(), 1U);
  EXPECT_EQ(tied[0].places, (std::vector<int>{0, 2}));
  EXPECT_TRUE(tiedWeights(graph, {{blocksOf(graph), 0}}).empty());
  const ExecutableIr ir = localSumsPlan(graph, kTiedApart);
  for (const BoundaryTensor& b : ir.boundaries) EXPECT_LE(b.type.bytes().count, 4 * 8 * 4) << b.name;
  for (const int place : {0, 2}) {
    SCOPED_TRACE(place);
    const StageIr& stage = ir.stages[static_cast<std::size_t>(place)];
    std::map<TensorUse, int> uses;
    for (const IrTensor& tensor : stage.tensors) {
      EXPECT_FALSE(tensor.shared) << tensor.name;
      if (tensor.type.elements() == 64 * 8) ++uses[tensor.use];
    }
    EXPECT_EQ(uses[TensorUse::weight], 1);
    EXPECT_EQ(uses[TensorUse::accumulator], 1);
    const auto sums = ofTable(stage, model::Pass::collective);
    ASSERT_EQ(sums.size(), 1U);
    const auto& sum = std::get<ops::Collective>(sums[0]->work.front().item);
    EXPECT_EQ(sum.axis, model::MeshAxis::pipe);
    EXPECT_EQ(sum.kind, ops::Collective::Kind::allReduce);
    EXPECT_EQ(sum.elements, 64 * 8);
    EXPECT_EQ(sum.places, (std::vector<std::int64_t>{0, 2}));
    const auto updates = ofTable(stage, model::Pass::update);
    ASSERT_EQ(updates.size(), 1U);
    EXPECT_EQ(updates[0]->inputs[0], sums[0]->outputs[0]) << "the update reads the sum";
  }
  for (const PassIr& pass : ir.stages[1].passes) EXPECT_NE(pass.pass, model::Pass::collective);
}

TEST(LocalSums, CopiesThatWouldDifferAreRefused) {
  const graph::Graph graph = smallModel("decoder", true);
  IrOptions options;
  options.stashEntries.resize(3);
  options.locations.accumulators.offChip = true;
  const auto refusal = [&](const graph::Graph& model) {
    const auto made = buildIr(model, kTiedApart, options, ops::standardOperators());
    return made.ok() ? std::string() : made.error().message;
  };
  EXPECT_NE(refusal(graph).find("which execution.offload_accumulators keeps in streaming memory"),
            std::string::npos);
  options.locations.accumulators.offChip = false;
  // A statistic that the forward pass writes, and a weight of which one stage's gradient does not count.
  graph::Graph written = graph;
  const graph::TensorId table = tiedWeights(graph, kTiedApart)[0].parameter;
  written.stateUpdates.push_back({table, table});
  EXPECT_NE(refusal(written).find("The forward pass writes parameter"), std::string::npos);
  graph::Graph half = graph;
  for (auto& [parameter, gradient] : half.parameterGradients) {
    if (parameter == table) gradient = half.node(half.tensor(gradient).producer).inputs.front();
  }
  EXPECT_NE(refusal(half).find("but not all of them compute a gradient of it"), std::string::npos);
}

}  // namespace
}  // namespace pipescope::compile
