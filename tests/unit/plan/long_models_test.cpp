// Tests runs of equal layers, and models that are compiled without most of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/builders/builder.h"
#include "engine/compiler/model_compiler.h"
#include "engine/ops/standard_operators.h"
#include "engine/plan/divided_model.h"
#include "engine/plan/long_models/layer_runs.h"
#include "engine/plan/long_models/short_model.h"
#include "engine/plan/stage_split.h"

namespace pipescope::plan {
namespace {

using std::int64_t;
using Settings = std::map<std::string, builders::Setting>;

std::shared_ptr<const graph::Graph> longGraph(const std::string& builder, const Settings& settings,
                                              bool training = true) {
  builders::BuilderRequest model{builder, settings, 1, training};
  auto graph = builders::buildModel(model, ops::standardOperators());
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return std::make_shared<const graph::Graph>(std::move(graph).value());
}

Settings decoderOf(int64_t layers) {
  return {{"layers", layers},         {"hidden", int64_t{512}},        {"heads", int64_t{8}},
          {"sequence", int64_t{128}}, {"feed_forward", int64_t{2048}}, {"vocabulary", int64_t{500}}};
}

TEST(LayerRuns, FindsTheLayersOfABuilder) {
  for (const int64_t layers : {16, 40}) {
    const auto graph = longGraph("decoder", decoderOf(layers));
    const std::vector<graph::NodeId> order = splitOrder(*graph, ops::standardOperators());
    const std::vector<LayerRun> runs = layerRuns(*graph, order, 8);
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_GE(runs.front().count, static_cast<std::size_t>(layers - 1));
    EXPECT_LE(runs.front().count, static_cast<std::size_t>(layers));
  }
}

/// A chain of elementwise nodes; the last one adds what `also` computed.
graph::Graph chainOf(std::size_t count, const std::vector<std::size_t>& odd, std::size_t also) {
  graph::Graph graph;
  const graph::TensorType type{graph::ElementType::float32, {4, 4}};
  graph::TensorId x = graph.addTensor("x", type, graph::TensorRole::input);
  graph.inputs = {x};
  std::vector<graph::TensorId> made;
  for (std::size_t i = 0; i <= count; ++i) {
    graph::Node node;
    node.op = i == count ? "Add" : std::ranges::find(odd, i) == odd.end() ? "Relu" : "Tanh";
    node.name = "n" + std::to_string(i);
    node.inputs = {x};
    if (i == count) node.inputs.push_back(made[also]);
    x = graph.addTensor(node.name + "/out", type, graph::TensorRole::activation);
    node.outputs = {x};
    made.push_back(x);
    graph.addNode(std::move(node));
  }
  graph.outputs = {x};
  return graph;
}

TEST(LayerRuns, EndWhereALayerDiffers) {
  const graph::Graph graph = chainOf(40, {19}, 0);
  const std::vector<graph::NodeId> order = splitOrder(graph, ops::standardOperators());
  const std::vector<LayerRun> runs = layerRuns(graph, order, 8);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].first + runs[0].size * runs[0].count, 19u);
  EXPECT_EQ(runs[1].first, 20u);
  EXPECT_EQ(runs[1].end(), 40u);
  EXPECT_TRUE(layerRuns(graph, order, 21).empty()) << "none of them is so long";
}

TEST(LayerRuns, LayersAreLeftOutOnlyIfNobodyElseNeedsThem) {
  const std::vector<LayerGap> gap = {{10, 30, 1}};
  for (const std::size_t also : {5, 9, 10, 29, 35}) {
    const graph::Graph graph = chainOf(40, {}, also);
    const std::vector<graph::NodeId> order = splitOrder(graph, ops::standardOperators());
    const auto shorter = withoutLayers(graph, order, gap);
    ASSERT_EQ(shorter.has_value(), also < 10 || also >= 30) << also;
    if (!shorter) continue;
    ASSERT_EQ(shorter->nodes().size(), 21u);
    EXPECT_EQ(shorter->nodes()[10].name, "n30");
    EXPECT_EQ(shorter->tensor(shorter->nodes()[10].inputs[0]).name, "n9/out");
    EXPECT_EQ(shorter->tensor(shorter->outputs[0]).name, "n40/out");
  }
}

compile::ModelRequest longRequest(const std::string& system, std::shared_ptr<const graph::Graph> forward,
                                  model::ExecutableKind kind, int stages) {
  compile::ModelRequest request;
  compile::ExecutableRequest executable;
  executable.kind = kind;
  executable.forward = std::move(forward);
  if (kind == model::ExecutableKind::training)
    executable.microBatches = 8;
  else
    executable.deviceIterations = 8;
  request.executables = {std::move(executable)};
  request.update.optimizer = std::move(*optimizers::createOptimizer("adam", {}));
  request.layout.splitInto = stages;
  request.system = system;
  return request;
}

/// Compiles, and counts the operators of the largest model that was compiled.
struct CountingCompiler {
  base::SerialExecutor executor;
  std::size_t most = 0;
  base::Result<compile::Compilation> operator()(const compile::ModelRequest& request) {
    most = std::max(most, request.executables.front().forward->nodes().size());
    return compile::compileModel(request, executor);
  }
};

/// Times of cards are rounded from real numbers, so that equal layers may differ by a tick of 10⁻¹² s.
void expectSame(const std::vector<int64_t>& costs, const std::vector<int64_t>& expected,
                const std::string& what) {
  ASSERT_EQ(costs.size(), expected.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (what.starts_with("pod"))
      EXPECT_EQ(costs[i], expected[i]) << what << ", unit " << i;
    else
      EXPECT_NEAR(static_cast<double>(costs[i]), static_cast<double>(expected[i]), 2)
          << what << ", unit " << i;
  }
}

TEST(ShortModel, CostsWhatTheWholeModelCosts) {
  for (const char* system : {"pod4", "hls-gaudi2", "dgx-h100"}) {
    for (const auto kind : {model::ExecutableKind::training, model::ExecutableKind::inference}) {
      const auto graph = longGraph("decoder", decoderOf(20), kind == model::ExecutableKind::training);
      const compile::ModelRequest request = longRequest(system, graph, kind, 3);
      const std::vector<graph::NodeId> order = splitOrder(*graph, ops::standardOperators());
      CountingCompiler compiler;
      const Compile compile = std::ref(compiler);
      auto splits = StageSplits::make(request, false, compile);
      ASSERT_TRUE(splits.ok()) << splits.error().message;
      EXPECT_LT(compiler.most, graph->nodes().size() / 2) << system << model::toString(kind);
      compile::ModelRequest whole = request;
      whole.layout = {};
      whole.layout.whole = true;
      whole.recompute = {compile::RecomputeRequest::Mode::never, {}};
      auto compiled = compile::compileModel(whole, compiler.executor);
      ASSERT_TRUE(compiled.ok()) << compiled.error().message;
      const auto costs = splitCosts(compiled->executables.front(), *graph, order, {});
      ASSERT_TRUE(costs.ok());
      const std::string what = std::string(system) + " " + model::toString(kind);
      expectSame((*splits)->problem().cost, costs->cost, what);
      expectSame((*splits)->problem().again, costs->again, what);
      expectSame((*splits)->forward(), costs->forward, what);
    }
  }
}

/// Passes and host copies of each stage in one micro-batch.
std::vector<int64_t> ticksOf(const compile::Compilation& compilation, std::size_t stages) {
  std::vector<int64_t> ticks(stages, 0);
  for (const devices::LoweredDevice& device : compilation.executables.front().lowered) {
    for (const devices::LoweredPass& pass : device.passes)
      if (chargesStage(pass.pass)) ticks[static_cast<std::size_t>(pass.stage)] += pass.ticks().count;
  }
  return ticks;
}

TEST(ShortModel, StagesCostWhatTheyCostInTheWholeModel) {
  for (const char* system : {"pod4", "hls-gaudi2"}) {
    for (const bool recomputes : {false, true}) {
      const auto graph = longGraph("decoder", decoderOf(32));
      compile::ModelRequest request = longRequest(system, graph, model::ExecutableKind::training, 2);
      request.recompute.mode =
          recomputes ? compile::RecomputeRequest::Mode::always : compile::RecomputeRequest::Mode::never;
      CountingCompiler compiler;
      const Compile compile = std::ref(compiler);
      const auto split = splitIntoStages(request, recomputes, compile);
      ASSERT_TRUE(split.ok()) << split.error().message;
      // Tiles exchange layer by layer in other ways, so that stages of IPUs are compiled whole.
      if (system == std::string("hls-gaudi2")) {
        EXPECT_LT(compiler.most, graph->nodes().size() * 2 / 3);
      }
      const auto compiled = compile::compileModel(split->request, compiler.executor);
      ASSERT_TRUE(compiled.ok()) << compiled.error().message;
      const auto splits = StageSplits::make(request, recomputes, compile);
      ASSERT_TRUE(splits.ok());
      const int64_t exchange = (*splits)->problem().exchange[1][split->found.split.first[1]];
      const std::vector<int64_t> ticks = ticksOf(*compiled, 2);
      for (std::size_t s = 0; s < 2; ++s)
        EXPECT_NEAR(static_cast<double>(split->found.split.stageCost[s]),
                    static_cast<double>(ticks[s] + exchange), 40)
            << system << ", stage " << s << (recomputes ? ", recomputes" : "");
    }
  }
}

}  // namespace
}  // namespace pipescope::plan
