// Tests execution.stages: where models are cut, against compilations of every other split.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/builders/builder.h"
#include "engine/ops/standard_operators.h"
#include "engine/plan/divided_model.h"
#include "engine/plan/split_costs.h"
#include "engine/plan/tried_plan.h"

namespace pipescope::plan {
namespace {

using namespace compile;

using std::int64_t;
using ::testing::HasSubstr;
using Settings = std::map<std::string, builders::Setting>;

std::shared_ptr<const graph::Graph> graphOf(const std::string& builder, const Settings& settings,
                                            bool training) {
  builders::BuilderRequest model{builder, settings, 1, training};
  auto graph = builders::buildModel(model, ops::standardOperators());
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return std::make_shared<const graph::Graph>(std::move(graph).value());
}

ExecutableRequest trainingOf(const std::string& builder, const Settings& settings) {
  ExecutableRequest executable;
  executable.forward = graphOf(builder, settings, true);
  executable.microBatches = 16;
  return executable;
}

ExecutableRequest inferenceOf(const std::string& builder, const Settings& settings) {
  ExecutableRequest executable;
  executable.kind = model::ExecutableKind::inference;
  executable.forward = graphOf(builder, settings, false);
  executable.deviceIterations = 16;
  return executable;
}

const Settings kBert{{"layers", int64_t{6}},         {"hidden", int64_t{64}},
                     {"heads", int64_t{4}},          {"sequence", int64_t{32}},
                     {"feed_forward", int64_t{256}}, {"vocabulary", int64_t{500}},
                     {"head", std::string("mlm")}};

ModelRequest requestOf(std::vector<ExecutableRequest> executables, int stages) {
  ModelRequest request;
  request.executables = std::move(executables);
  request.update.optimizer = std::move(*optimizers::createOptimizer("sgd", {}));
  request.layout.splitInto = stages;
  return request;
}

Compilation splitCompilation(const ModelRequest& request) {
  base::SerialExecutor executor;
  auto made = compileDivided(request, executor);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made.ok() ? std::move(made).value() : Compilation();
}

std::string splitRefusal(const ModelRequest& request) {
  base::SerialExecutor executor;
  const auto made = compileDivided(request, executor);
  return made.ok() ? "" : made.error().message;
}

/// The longest stage's passes and host copies of one micro-batch, without exchange between stages.
int64_t longestStage(const Compilation& compilation) {
  std::map<int, int64_t> ticks;
  for (const devices::LoweredDevice& device : compilation.executables.front().lowered) {
    for (const devices::LoweredPass& pass : device.passes) {
      const bool perMicroBatch =
          isComputePass(pass.pass) || pass.pass == model::Pass::hostIn || pass.pass == model::Pass::hostOut;
      if (perMicroBatch) ticks[pass.stage] += pass.ticks().count;
    }
  }
  int64_t longest = 0;
  for (const auto& [stage, each] : ticks) longest = std::max(longest, each);
  return longest;
}

/// The longest stage of the best division of the model's blocks into stages, by compiling each of them.
int64_t bestOfAllBlocks(ModelRequest request, int stages) {
  const std::vector<std::string> blocks = blocksOf(*request.executables.front().forward);
  request.layout.splitInto = 0;
  int64_t best = std::numeric_limits<int64_t>::max();
  std::vector<std::size_t> first{0};
  const std::function<void()> grow = [&] {
    if (first.size() == static_cast<std::size_t>(stages)) {
      request.layout.stages.clear();
      for (std::size_t s = 0; s < first.size(); ++s) {
        const std::size_t end = s + 1 < first.size() ? first[s + 1] : blocks.size();
        request.layout.stages.push_back({{blocks.begin() + static_cast<std::ptrdiff_t>(first[s]),
                                          blocks.begin() + static_cast<std::ptrdiff_t>(end)}});
      }
      best = std::min(best, longestStage(splitCompilation(request)));
      return;
    }
    for (std::size_t b = first.back() + 1; b < blocks.size(); ++b) {
      first.push_back(b);
      grow();
      first.pop_back();
    }
  };
  grow();
  return best;
}

TEST(StageSplit, IsAboutAsGoodAsTheBestOfAllCompilations) {
  for (const char* system : {"pod4", "hls-gaudi2"}) {
    for (const int stages : {2, 3}) {
      ModelRequest request = requestOf({trainingOf("bert", kBert)}, stages);
      request.system = system;
      const Compilation split = splitCompilation(request);
      ASSERT_EQ(split.executables.front().ir.stages.size(), static_cast<std::size_t>(stages));
      const auto best = static_cast<double>(bestOfAllBlocks(request, stages));
      // The estimate knows nothing of stashes, and may prefer layers to a gain of 5 %.
      EXPECT_LE(static_cast<double>(longestStage(split)), 1.1 * best) << system << ", stages: " << stages;
    }
  }
}

TEST(StageSplit, CostsAddUpToThePassesAndBytesToTheBoundaries) {
  for (const char* system : {"pod4", "hls-gaudi2"}) {
    ModelRequest request = requestOf({trainingOf("bert", kBert)}, 1);
    request.system = system;
    const Compilation one = splitCompilation(request);
    const graph::Graph& forward = *request.executables.front().forward;
    const std::vector<graph::NodeId> order = splitOrder(forward, ops::standardOperators());
    const auto costs = splitCosts(one.executables.front(), forward, order, {});
    ASSERT_TRUE(costs.ok()) << costs.error().message;
    int64_t sum = 0;
    for (const int64_t each : costs->cost) sum += each;
    EXPECT_EQ(sum, longestStage(one)) << system << ": all passes of the only stage";
    request.layout.splitInto = 0;
    const std::vector<std::string> blocks = blocksOf(forward);
    for (auto block = std::next(blocks.begin()); block != blocks.end(); ++block) {
      request.layout.stages = {{{blocks.begin(), block}}, {{block, blocks.end()}}};
      int64_t activations = 0, gradients = 0;
      const Compilation two = splitCompilation(request);
      for (const BoundaryTensor& boundary : two.executables.front().ir.boundaries) {
        const bool gradient = boundary.kind == model::TransferKind::gradient;
        (gradient ? gradients : activations) += boundary.type.bytes().count;
      }
      std::size_t cut = 0;
      while (forward.node(order[cut]).block != *block) ++cut;
      EXPECT_EQ(costs->activationBytes[cut], activations) << *block;
      EXPECT_GT(costs->gradientBytes[cut], 0) << *block;
      EXPECT_LE(costs->gradientBytes[cut], gradients) << *block;
    }
  }
}

TEST(StageSplit, PreparationsOfInputsComeLate) {
  // The embedding of the second input is not needed before the last product.
  graph::Graph graph;
  const graph::TensorType rows{graph::ElementType::float32, {4, 4}}, ids{graph::ElementType::int32, {4}};
  const auto add = [&](const std::string& op, const std::string& name, std::vector<graph::TensorId> inputs) {
    graph::Node node;
    node.op = op;
    node.name = name;
    node.block = "model";
    node.inputs = std::move(inputs);
    auto made = ops::appendNode(graph, std::move(node), {name + "/out"}, graph::TensorRole::activation,
                                ops::standardOperators());
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made->front();
  };
  const graph::TensorId x = graph.addTensor("x", rows, graph::TensorRole::input),
                        tokens = graph.addTensor("tokens", ids, graph::TensorRole::input),
                        table = graph.addParameter("table", rows, {}), w = graph.addParameter("w", rows, {});
  graph.inputs = {x, tokens};
  const graph::TensorId embedded = add("Gather", "embed", {table, tokens});
  const graph::TensorId transposed = add("Transpose", "transpose", {w});
  const graph::TensorId first = add("MatMul", "first", {x, transposed});
  graph.outputs = {add("MatMul", "last", {first, embedded})};
  std::vector<std::string> names;
  const std::vector<graph::NodeId> order = splitOrder(graph, ops::standardOperators());
  for (const graph::NodeId id : order) names.push_back(graph.node(id).name);
  EXPECT_THAT(names, ::testing::ElementsAre("transpose", "first", "embed", "last"));
  EXPECT_EQ(splitBorders(graph, order), (std::vector<bool>{true, false, true, true}));
}

TEST(StageSplit, CutsWithinBlocksWhereThatIsBetter) {
  // Two layers on three stages: one of them must be cut.
  Settings settings = kBert;
  settings["layers"] = int64_t{2};
  settings["head"] = std::string("squad");
  const Compilation split = splitCompilation(requestOf({trainingOf("bert", settings)}, 3));
  std::vector<std::string> cut;
  for (const StageIr& stage : split.executables.front().ir.stages) {
    for (const std::string& block : stage.blocks) {
      if (block.find("/stage") != std::string::npos) cut.push_back(block);
    }
  }
  EXPECT_THAT(cut, ::testing::Contains("encoder/layer0/stage1"));
  EXPECT_THAT(cut, ::testing::Contains("encoder/layer1/stage1"));
}

TEST(StageSplit, InferenceIsCutAtTheSameOperators) {
  Settings settings = kBert;
  settings["dropout"] = 0.1;
  const Compilation split =
      splitCompilation(requestOf({trainingOf("bert", settings), inferenceOf("bert", settings)}, 3));
  ASSERT_EQ(split.executables.size(), 2u);
  std::map<std::string, int> stageOf;
  for (const StageIr& stage : split.executables[0].ir.stages) {
    for (const PassIr& pass : stage.passes) {
      for (const IrOperator& op : pass.operators) {
        if (pass.pass == model::Pass::forward && op.kind == "MatMul") stageOf[op.name] = stage.index;
      }
    }
  }
  int compared = 0;
  for (const StageIr& stage : split.executables[1].ir.stages) {
    for (const PassIr& pass : stage.passes) {
      for (const IrOperator& op : pass.operators) {
        if (!stageOf.contains(op.name)) continue;
        EXPECT_EQ(stageOf[op.name], stage.index) << op.name;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 12) << "two products of attention in each of six layers";
}

TEST(StageSplit, TiedWeightsShareADevice) {
  Settings settings = kBert;
  settings["tie_embeddings"] = true;
  ModelRequest request = requestOf({trainingOf("bert", settings)}, 4);
  const Compilation split = splitCompilation(request);
  std::vector<int> devices;
  for (const StageIr& stage : split.executables.front().ir.stages) devices.push_back(stage.place);
  EXPECT_EQ(devices, (std::vector<int>{0, 1, 2, 0}));
  // A schedule that never returns to a device has no place for such a model.
  request.layout.schedule = "1f1b";
  EXPECT_THAT(splitRefusal(request),
              HasSubstr("parameter embeddings/tokens/weight is used by embeddings/tokens and by head/tokens, "
                        "which must lie on one device, and with schedule 1f1b they cannot"));
  // Frameworks for cards keep a copy on each device.
  request.system = "hls-gaudi2";
  request.layout.copiesWeights = true;
  devices.clear();
  const Compilation apart = splitCompilation(request);
  for (const StageIr& stage : apart.executables.front().ir.stages) devices.push_back(stage.place);
  EXPECT_EQ(devices, (std::vector<int>{0, 1, 2, 3}));
  request.layout.schedule = "dualpipe";
  EXPECT_THAT(splitRefusal(request), HasSubstr("which must lie on one device"));
}

/// Products with transposed weights, as PyTorch exports linear layers of a model in training.
std::shared_ptr<const graph::Graph> transposedProducts(int layers) {
  graph::Graph graph;
  const graph::TensorType square{graph::ElementType::float32, {64, 64}};
  graph::TensorId x = graph.addTensor("samples", square, graph::TensorRole::input);
  graph.inputs = {x};
  std::vector<graph::TensorId> weights;
  const auto add = [&](const std::string& op, const std::string& name, std::vector<graph::TensorId> inputs) {
    graph::Node node;
    node.op = op;
    node.name = name;
    node.block = "model";
    node.inputs = std::move(inputs);
    auto made = ops::appendNode(graph, std::move(node), {name + "/out"}, graph::TensorRole::activation,
                                ops::standardOperators());
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made->front();
  };
  for (int layer = 0; layer < layers; ++layer) {
    const graph::TensorId weight = graph.addParameter("w" + std::to_string(layer), square, {});
    weights.push_back(add("Transpose", "transpose" + std::to_string(layer), {weight}));
  }
  for (int layer = 0; layer < layers; ++layer)
    x = add("MatMul", "product" + std::to_string(layer), {x, weights[static_cast<std::size_t>(layer)]});
  graph.outputs = {x};
  return std::make_shared<const graph::Graph>(std::move(graph));
}

TEST(StageSplit, WeightsStayWithTheirProducts) {
  ExecutableRequest executable;
  executable.kind = model::ExecutableKind::inference;
  executable.forward = transposedProducts(6);
  executable.deviceIterations = 8;
  const Compilation split = splitCompilation(requestOf({executable}, 3));
  ASSERT_EQ(split.executables.size(), 1u);
  for (const StageIr& stage : split.executables.front().ir.stages) {
    std::vector<std::string> names;
    for (const PassIr& pass : stage.passes) {
      for (const IrOperator& op : pass.operators) {
        if (pass.pass == model::Pass::forward) names.push_back(op.name);
      }
    }
    int products = 0;
    for (const std::string& name : names) {
      if (!name.starts_with("product")) continue;
      EXPECT_THAT(names, ::testing::Contains("transpose" + name.substr(7)));
      ++products;
    }
    EXPECT_GE(products, 1);
    EXPECT_EQ(names.size(), 2u * static_cast<std::size_t>(products));
  }
  for (const BoundaryTensor& boundary : split.executables.front().ir.boundaries)
    EXPECT_THAT(boundary.name, HasSubstr("product"));
}

TEST(StageSplit, SaysWhereItCut) {
  const Compilation split = splitCompilation(requestOf({trainingOf("bert", kBert)}, 2));
  ASSERT_GE(split.notices.size(), 3u);
  EXPECT_THAT(split.notices[0], HasSubstr("The model is split into 2 stages by the estimated time"));
  EXPECT_THAT(split.notices[1], HasSubstr("Stage 0 at place 0: "));
  EXPECT_THAT(split.notices[1], HasSubstr("operators from embeddings/"));
  EXPECT_THAT(split.notices[2], HasSubstr(" to head/loss, estimated "));
  Settings tied = kBert;
  tied["tie_embeddings"] = true;  // the head's product uses the embedding of tokens
  EXPECT_THAT(splitCompilation(requestOf({trainingOf("bert", tied)}, 3)).notices,
              ::testing::Contains("Stages 0 and 2 share device 0, because they use the same parameter "
                                  "embeddings/tokens/weight."));
  for (const std::string& notice : split.notices)
    EXPECT_THAT(notice, ::testing::Not(HasSubstr("share device")));
}

TEST(StageSplit, WorksWithEverySchedule) {
  for (const schedules::ScheduleDefinition& schedule : schedules::scheduleRegistry().all()) {
    if (!schedule.pipelined) continue;
    ModelRequest request = requestOf({trainingOf("bert", kBert)}, 4);
    request.layout.schedule = schedule.name;
    EXPECT_EQ(splitRefusal(request), "") << schedule.name;
  }
  for (const Strategy strategy : {Strategy::sharded, Strategy::serialPhased, Strategy::parallelPhased}) {
    ModelRequest request = requestOf({trainingOf("bert", kBert)}, 4);
    request.layout.strategy = strategy;
    EXPECT_EQ(splitRefusal(request), "") << toString(strategy);
  }
}

/// A box of cards with so many bytes of memory, in a folder of the user's.
ModelRequest onSmallCards(const std::filesystem::path& folder, int64_t bytes, int stages) {
  for (const char* part : {"devices", "systems"}) std::filesystem::create_directories(folder / part);
  std::ofstream(folder / "devices" / "small.toml")
      << "family = \"card\"\nbase = \"h100\"\n[figures]\nhbm = { value = " << bytes
      << ", unit = \"B\", grade = \"X\", source = \"test\" }\n"
         "hbm_reserved = { value = 0, unit = \"B\", grade = \"X\", source = \"test\" }\n";
  std::ofstream(folder / "systems" / "smallbox.toml")
      << "family = \"card\"\nbase = \"dgx-h100\"\nchip = \"small\"\n";
  ModelRequest request = requestOf({trainingOf("decoder", {{"layers", int64_t{2}},
                                                           {"hidden", int64_t{64}},
                                                           {"heads", int64_t{4}},
                                                           {"sequence", int64_t{256}},
                                                           {"vocabulary", int64_t{6000}}})},
                                   stages);
  request.system = "smallbox";
  request.systemOptions.userFolder = folder;
  request.layout.schedule = "1f1b";
  return request;
}

/// The oracle compiles every cut of a model on cards with plenty of memory, and notes what it needs and how
/// long its call takes. Cards that have a byte less than the fastest cut needs must then get the fastest cut
/// of those that need no more.
TEST(StageSplit, TakesTheFastestStagesThatFit) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "stage_split_small_cards";
  const auto neededBy = [](const TriedPlan& plan) {
    int64_t most = 0;
    for (const TriedStage& stage : plan.stages) most = std::max(most, stage.used);
    return most;
  };
  constexpr int64_t kPlenty = int64_t{1} << 36;
  ModelRequest every = onSmallCards(folder / "plenty", kPlenty, 0);
  struct Cut {
    int64_t bytes = 0, ticks = 0;
  };
  std::vector<Cut> cuts;
  base::SerialExecutor executor;
  for (const graph::Node& node : every.executables.front().forward->nodes()) {
    every.layout.cuts = {node.name};
    const auto compiled = compileDivided(every, executor);
    if (!compiled.ok()) continue;  // no stage can begin there
    const TriedPlan plan = tryOut(*compiled);
    cuts.push_back({neededBy(plan), plan.value.time});
  }
  ASSERT_GT(cuts.size(), 20u);
  const TriedPlan fastest = tryOut(splitCompilation(onSmallCards(folder / "plenty", kPlenty, 2)));
  const int64_t limit = neededBy(fastest) - 1;
  int64_t best = std::numeric_limits<int64_t>::max(), least = best;
  for (const Cut& cut : cuts) {
    if (cut.bytes <= limit) best = std::min(best, cut.ticks);
    least = std::min(least, cut.bytes);
  }
  ASSERT_LT(least, limit) << "another cut must need less for this test to say anything";
  const Compilation found = splitCompilation(onSmallCards(folder / "small", limit, 2));
  EXPECT_THAT(found.overflow(), ::testing::IsEmpty());
  const TriedPlan plan = tryOut(found);
  EXPECT_LE(neededBy(plan), limit);
  // Cuts between blocks are preferred to others that are less than 0.3 % faster.
  EXPECT_LE(static_cast<double>(plan.value.time), 1.003 * static_cast<double>(best));
  EXPECT_THAT(found.notices.front(), HasSubstr("do not fit"));
  // The fastest stages stay if none fit, and the run says how much memory is missing.
  const Compilation none = splitCompilation(onSmallCards(folder / "none", least - 1, 2));
  EXPECT_THAT(none.overflow(), ::testing::Not(::testing::IsEmpty()));
  EXPECT_EQ(tryOut(none).stages.front().last, fastest.stages.front().last);
}

TEST(StageSplit, OneStageIsTheWholeModel) {
  const Compilation split = splitCompilation(requestOf({trainingOf("bert", kBert)}, 1));
  ASSERT_EQ(split.executables.front().ir.stages.size(), 1u);
  EXPECT_EQ(split.executables.front().ir.stages[0].blocks.size(), 8u);
}

TEST(StageSplit, RefusesWhatCannotBe) {
  ModelRequest request = requestOf({trainingOf("bert", kBert)}, 4);
  request.layout.stages = {{{"*"}}};
  EXPECT_EQ(splitRefusal(request),
            "execution.stages and [[stages]] both say what the stages are: leave one out.");
  request.layout.stages.clear();
  request.layout.layersPerStage = {3, 3};
  EXPECT_EQ(splitRefusal(request),
            "execution.stages and execution.layers_per_stage both say what the stages are: leave one out.");
  // More stages than operators, but not many more: their order is made before the model is compiled.
  request = requestOf({trainingOf("bert", kBert)}, 300);
  request.executables.front().microBatches = 600;
  EXPECT_THAT(splitRefusal(request), HasSubstr("execution.stages is 300, but the model has only "));
  request = requestOf({trainingOf("bert", kBert)}, 5);
  EXPECT_THAT(splitRefusal(request), HasSubstr("The stages use 5 devices, but system pod4 has 4"));
  request = requestOf({trainingOf("bert", kBert)}, 4);
  request.executables.front().microBatches = 2;
  EXPECT_THAT(splitRefusal(request), HasSubstr("needs gradient_accumulation of at least 7"));
}

}  // namespace
}  // namespace pipescope::plan
