#include <gtest/gtest.h>

#include <algorithm>

#include "engine/builders/layers.h"
#include "engine/compile/gradients.h"
#include "engine/compile/ir_builder.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

/// The network of the PopTorch pipelining tutorial.
graph::Graph tutorialGraph(bool training) {
  builders::LayersModel model;
  model.sample = {1, 28, 28};
  model.microBatch = 40;
  model.layers = {{"conv", "layer1/conv", "B1", {{"out_channels", 10}, {"kernel_size", 5}}},
                  {"maxpool", "layer1/pool", "B1", {{"kernel_size", 2}}},
                  {"relu", "layer1/relu", "B1", {}},
                  {"conv", "layer2/conv", "B2", {{"out_channels", 20}, {"kernel_size", 5}}},
                  {"maxpool", "layer2/pool", "B2", {{"kernel_size", 2}}},
                  {"relu", "layer2/relu", "B2", {}},
                  {"flatten", "layer3/flatten", "B3", {}},
                  {"linear", "layer3/linear", "B3", {{"out_features", 256}}},
                  {"relu", "layer3/relu", "B3", {}},
                  {"linear", "layer4/linear", "B4", {{"out_features", 10}}}};
  if (training) model.layers.push_back({"cross_entropy", "loss", "B4", {}});
  auto built = builders::buildLayers(model, ops::standardOperators());
  EXPECT_TRUE(built.ok()) << built.error().message;
  if (!training) return std::move(built).value();
  auto withGradients = addGradients(*built, ops::standardOperators());
  EXPECT_TRUE(withGradients.ok()) << withGradients.error().message;
  return std::move(withGradients).value();
}

IrOptions trainingOptions(std::vector<std::int64_t> stash, bool recompute) {
  IrOptions options;
  options.name = "training";
  options.recompute = recompute;
  options.microBatches = 10;
  options.stashEntries = std::move(stash);
  options.optimizer.kind = "adamw";
  options.optimizer.states = [](const graph::TensorType& type) {
    return std::vector<OptimizerCost::State>{{"moment1", type}, {"moment2", type}};
  };
  options.optimizer.work = [](const graph::TensorType& type) {
    return std::vector<ops::Work>{{ops::Map{ops::MapFunction::add, type.elements(), 4}, 1, ""}};
  };
  return options;
}

ExecutableIr irOf(const graph::Graph& graph, const std::vector<StageSpec>& stages, const IrOptions& options) {
  auto built = buildIr(graph, stages, options, ops::standardOperators());
  EXPECT_TRUE(built.ok()) << built.error().message;
  return std::move(built).value();
}

const PassIr* passOf(const StageIr& stage, model::Pass pass) {
  const auto found =
      std::find_if(stage.passes.begin(), stage.passes.end(), [&](const PassIr& p) { return p.pass == pass; });
  return found == stage.passes.end() ? nullptr : &*found;
}

bool recomputes(const StageIr& stage) {
  const PassIr* backward = passOf(stage, model::Pass::backward);
  return backward && std::ranges::any_of(backward->operators, &IrOperator::again);
}

std::vector<std::string> stashed(const StageIr& stage) {
  std::vector<std::string> names;
  for (const IrTensor& tensor : stage.tensors) {
    if (tensor.use == TensorUse::stash) names.push_back(tensor.name);
  }
  return names;
}

std::int64_t planBytesOf(const StageIr& stage, TensorUse use) {
  std::int64_t sum = 0;
  for (const IrTensor& tensor : stage.tensors)
    sum += tensor.use == use ? tensor.type.bytes().count * tensor.copies : 0;
  return sum;
}

const std::vector<StageSpec> kFour = {{{"B1"}, 0}, {{"B2"}, 1}, {{"B3"}, 2}, {{"B4"}, 3}};
const std::vector<StageSpec> kTwo = {{{"B1", "B2"}, 0}, {{"B3", "B4"}, 1}};

TEST(Ir, TwoStagesWithFullRecomputeStashTheGraphInputOnly) {
  const graph::Graph graph = tutorialGraph(true);
  const ExecutableIr two = irOf(graph, kTwo, trainingOptions({3, 0}, true));
  EXPECT_EQ(stashed(two.stages[0]), std::vector<std::string>{"samples/stash"});
  EXPECT_TRUE(stashed(two.stages[1]).empty());
  EXPECT_EQ(two.stages[0].stashBytesPerEntry.count, 40 * 28 * 28 * 4);
  EXPECT_EQ(planBytesOf(two.stages[0], TensorUse::stash), 3 * 40 * 28 * 28 * 4);
  EXPECT_TRUE(recomputes(two.stages[0]));
  EXPECT_FALSE(recomputes(two.stages[1]));
}

TEST(Ir, WithoutRecomputeEverythingTheBackwardReadsIsStashed) {
  const graph::Graph graph = tutorialGraph(true);
  const ExecutableIr two = irOf(graph, kTwo, trainingOptions({3, 0}, false));
  EXPECT_GT(stashed(two.stages[0]).size(), 3u);
  EXPECT_FALSE(recomputes(two.stages[0]));
  const ExecutableIr recomputed = irOf(graph, kTwo, trainingOptions({3, 0}, true));
  EXPECT_GT(two.stages[0].stashBytesPerEntry, recomputed.stages[0].stashBytesPerEntry);
}

TEST(Ir, BoundariesOfTheTutorial) {
  const ExecutableIr four = irOf(tutorialGraph(true), kFour, trainingOptions({7, 5, 3, 0}, true));
  // The stages send 40×10×12×12, 40×20×4×4 and 40×256 floats forward, and gradients of the same sizes back.
  std::vector<std::pair<int, std::int64_t>> forward, backward;
  for (const BoundaryTensor& b : four.boundaries) {
    (b.kind == model::TransferKind::activation ? forward : backward)
        .emplace_back(b.fromStage, b.type.bytes().count);
  }
  std::sort(forward.begin(), forward.end());
  std::sort(backward.begin(), backward.end());
  EXPECT_EQ(forward, (std::vector<std::pair<int, std::int64_t>>{
                         {0, 40 * 10 * 12 * 12 * 4}, {1, 40 * 20 * 4 * 4 * 4}, {2, 40 * 256 * 4}}));
  EXPECT_EQ(backward, (std::vector<std::pair<int, std::int64_t>>{
                          {1, 40 * 10 * 12 * 12 * 4}, {2, 40 * 20 * 4 * 4 * 4}, {3, 40 * 256 * 4}}));
}

/// Two ways through two devices, as DualPipe has them: the second way goes back.
TEST(Ir, EachPipeHasStagesOfItsOwn) {
  IrOptions options = trainingOptions({3, 1, 2, 0}, true);
  options.pipes = 2;
  options.placeOfStage = {0, 1, 1, 0};
  options.weightEntries = {0, 0, 0, 0};
  const ExecutableIr both = irOf(tutorialGraph(true), kTwo, options);
  ASSERT_EQ(both.stages.size(), 4U);
  for (std::size_t s = 0; s < 4; ++s) {
    EXPECT_EQ(both.stages[s].index, static_cast<int>(s));
    EXPECT_EQ(both.stages[s].place, options.placeOfStage[s]) << s;
  }
  const std::int64_t entry = 40 * 28 * 28 * 4;
  EXPECT_EQ(planBytesOf(both.stages[0], TensorUse::stash), 3 * entry);
  EXPECT_EQ(planBytesOf(both.stages[2], TensorUse::stash), 2 * entry);
  std::vector<std::pair<int, int>> ways;
  for (const BoundaryTensor& b : both.boundaries) ways.emplace_back(b.fromStage, b.toStage);
  std::ranges::sort(ways);
  EXPECT_EQ(ways, (std::vector<std::pair<int, int>>{{0, 1}, {1, 0}, {2, 3}, {3, 2}}));
}

TEST(Ir, WeightsAccumulatorsAndStateAddUp) {
  const ExecutableIr four = irOf(tutorialGraph(true), kFour, trainingOptions({7, 5, 3, 0}, true));
  const std::vector<std::int64_t> parameters = {10 * 25 + 10, 20 * 250 + 20, 320 * 256 + 256, 256 * 10 + 10};
  for (std::size_t s = 0; s < 4; ++s) {
    EXPECT_EQ(planBytesOf(four.stages[s], TensorUse::weight), 4 * parameters[s]) << s;
    EXPECT_EQ(planBytesOf(four.stages[s], TensorUse::accumulator), 4 * parameters[s]) << s;
    EXPECT_EQ(planBytesOf(four.stages[s], TensorUse::optimizerState), 8 * parameters[s]) << s;
  }
}

TEST(Ir, HostCopiesStandWhereTheTensorsAre) {
  const ExecutableIr four = irOf(tutorialGraph(true), kFour, trainingOptions({7, 5, 3, 0}, true));
  ASSERT_NE(passOf(four.stages[0], model::Pass::hostIn), nullptr);
  EXPECT_EQ(passOf(four.stages[0], model::Pass::hostIn)->operators.front().name, "samples");
  EXPECT_EQ(passOf(four.stages[1], model::Pass::hostIn), nullptr);
  ASSERT_NE(passOf(four.stages[3], model::Pass::hostIn), nullptr);
  EXPECT_EQ(passOf(four.stages[3], model::Pass::hostIn)->operators.front().name, "labels");
  EXPECT_EQ(passOf(four.stages[3], model::Pass::hostOut)->operators.size(), 2u);  // predictions and loss
}

TEST(Ir, EveryInputOfAPassHasAMaker) {
  // Every tensor that is read must be always live, come from another stage or the host, or be made by an
  // earlier operator.
  for (const bool recompute : {true, false}) {
    const ExecutableIr four = irOf(tutorialGraph(true), kFour, trainingOptions({7, 5, 3, 0}, recompute));
    for (const StageIr& stage : four.stages) {
      std::vector<bool> made(stage.tensors.size());
      for (std::size_t t = 0; t < made.size(); ++t)
        made[t] = isAlwaysLive(stage.tensors.items()[t].use) ||
                  stage.tensors.items()[t].use == TensorUse::input ||
                  stage.tensors.items()[t].use == TensorUse::gradient;
      for (const PassIr& pass : stage.passes) {
        for (const IrOperator& op : pass.operators) {
          for (const IrTensorId input : op.inputs)
            EXPECT_TRUE(made[static_cast<std::size_t>(input.value)])
                << op.name << " reads " << stage.tensors[input].name;
          for (const IrTensorId output : op.outputs) made[static_cast<std::size_t>(output.value)] = true;
        }
      }
    }
  }
}

TEST(Ir, InferenceKeepsNothing) {
  IrOptions options;
  options.name = "inference";
  options.kind = model::ExecutableKind::inference;
  options.stashEntries = {0, 0, 0, 0};
  const ExecutableIr four = irOf(tutorialGraph(false), kFour, options);
  for (const StageIr& stage : four.stages) {
    EXPECT_EQ(passOf(stage, model::Pass::backward), nullptr);
    EXPECT_EQ(passOf(stage, model::Pass::update), nullptr);
    EXPECT_EQ(planBytesOf(stage, TensorUse::accumulator) + planBytesOf(stage, TensorUse::optimizerState) +
                  planBytesOf(stage, TensorUse::stash),
              0);
  }
}

std::string refusal(const std::vector<StageSpec>& stages) {
  const auto placed = placeStages(tutorialGraph(false), stages);
  return placed.ok() ? "" : placed.error().message;
}

TEST(Placement, DefaultsToAStagePerBlock) {
  const auto placed = placeStages(tutorialGraph(false), {});
  ASSERT_TRUE(placed.ok());
  ASSERT_EQ(placed->size(), 4u);
  EXPECT_EQ((*placed)[2].blocks, std::vector<std::string>{"B3"});
  EXPECT_EQ((*placed)[2].place, 2);
}

TEST(Placement, RefusalsNameBlockAndStages) {
  EXPECT_EQ(refusal({{{"B1", "B2"}, 0}, {{"B2", "B3", "B4"}, 1}}),
            "Block \"B2\" is in stage 0 and in stage 1: a block belongs to one stage only.");
  EXPECT_EQ(refusal({{{"B1", "B2"}, 0}, {{"B3"}, 1}}),
            "Block \"B4\" is in no stage: add it to the blocks of a [[stages]] entry.");
  EXPECT_EQ(refusal({{{"B1", "B2", "B3", "B4", "B9"}, 0}}),
            "Stage 0 names block \"B9\", which the model does not have; its blocks are B1, B2, B3, B4.");
  EXPECT_EQ(refusal({{{"B1", "B2", "B3", "B4"}, 0}, {{}, 1}}),
            "Stage 1 has no blocks: give it some or remove its [[stages]] entry.");
  EXPECT_NE(refusal({{{"B2"}, 0}, {{"B1", "B3", "B4"}, 1}}).find("stages must ascend along the data flow"),
            std::string::npos);
}

TEST(Ir, NotesWhatEachPlaceSendsRoundItsRings) {
  // Weights and biases of the four layers, in float32; an all-reduce goes round twice.
  const std::vector<std::int64_t> parameters = {10 * 25 + 10, 20 * 250 + 20, 320 * 256 + 256, 2560 + 10};
  const graph::Graph graph = tutorialGraph(true);
  std::vector<StageSpec> stages;
  for (int s = 0; s < 4; ++s) stages.push_back({{"B" + std::to_string(s + 1)}, s});
  IrOptions options = trainingOptions({4, 3, 2, 0}, false);
  options.mesh = {.replicas = 2, .places = 4, .atOnce = true};
  ExecutableIr ir = irOf(graph, stages, options);
  noteRingBytes(ir);
  std::vector<std::int64_t> expected;
  for (const std::int64_t count : parameters) expected.push_back(2 * 4 * count);
  EXPECT_EQ(ir.mesh.ringBytes, expected);
  for (const StageIr& stage : ir.stages) EXPECT_EQ(stage.mesh.ringBytes, expected);
  // Devices that reduce one after another share no links.
  options.mesh.atOnce = false;
  ir = irOf(graph, stages, options);
  noteRingBytes(ir);
  EXPECT_TRUE(ir.mesh.ringBytes.empty());
}

}  // namespace
}  // namespace pipescope::compile
