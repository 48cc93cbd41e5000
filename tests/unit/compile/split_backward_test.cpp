// Tests how backward passes are split into input and weight gradients for zero-bubble schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/builders/layers.h"
#include "engine/compile/gradients.h"
#include "engine/compile/ir_builder.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

graph::Graph twoBlocks() {
  builders::LayersModel model;
  model.sample = {1, 12, 12};
  model.microBatch = 4;
  model.layers = {{"conv", "a/conv", "A", {{"out_channels", 3}, {"kernel_size", 3}}},
                  {"relu", "a/relu", "A", {}},
                  {"conv", "b/conv", "B", {{"out_channels", 4}, {"kernel_size", 3}}},
                  {"relu", "b/relu", "B", {}},
                  {"flatten", "b/flatten", "B", {}},
                  {"linear", "b/linear", "B", {{"out_features", 8}}},
                  {"linear", "c/linear", "C", {{"out_features", 5}}},
                  {"cross_entropy", "loss", "C", {}}};
  auto built = builders::buildLayers(model, ops::standardOperators());
  EXPECT_TRUE(built.ok()) << built.error().message;
  auto withGradients = addGradients(*built, ops::standardOperators());
  EXPECT_TRUE(withGradients.ok()) << withGradients.error().message;
  return std::move(withGradients).value();
}

ExecutableIr splitBackwardPlan(bool split, std::vector<std::int64_t> weightEntries, bool recompute = true) {
  IrOptions options;
  options.recompute = recompute;
  options.microBatches = 8;
  options.stashEntries = {3, 3, 3};
  options.splitBackward = split;
  options.weightEntries = std::move(weightEntries);
  options.optimizer.states = [](const graph::TensorType&) { return std::vector<OptimizerCost::State>(); };
  options.optimizer.work = [](const graph::TensorType& type) {
    return std::vector<ops::Work>{{ops::Map{ops::MapFunction::add, type.elements(), 4}, 1, ""}};
  };
  auto built = buildIr(twoBlocks(), {{{"A"}, 0}, {{"B"}, 1}, {{"C"}, 2}}, options, ops::standardOperators());
  EXPECT_TRUE(built.ok()) << built.error().message;
  return std::move(built).value();
}

std::multiset<std::string> names(const StageIr& stage, std::set<model::Pass> passes, bool copies = false) {
  std::multiset<std::string> found;
  for (const PassIr& pass : stage.passes) {
    if (!passes.contains(pass.pass)) continue;
    for (const IrOperator& op : pass.operators) {
      if (copies || (op.kind != "Stash" && op.kind != "Restore")) found.insert(op.name);
    }
  }
  return found;
}

/// Expects that every tensor a pass reads is made earlier in the stage or is always live.
void expectReadable(const StageIr& stage) {
  std::set<IrTensorId> made;
  for (const PassIr& pass : stage.passes) {
    for (const IrOperator& op : pass.operators) {
      for (const IrTensorId id : op.inputs) {
        if (!id.valid()) continue;
        const IrTensor& tensor = stage.tensors[id];
        const bool there = isAlwaysLive(tensor.use) || tensor.use == TensorUse::input || made.contains(id);
        EXPECT_TRUE(there || tensor.use == TensorUse::gradient) << op.name << " reads " << tensor.name;
      }
      made.insert(op.outputs.begin(), op.outputs.end());
    }
  }
}

TEST(SplitBackward, MovesWeightGradientsAndNothingElse) {
  const ExecutableIr whole = splitBackwardPlan(false, {}), split = splitBackwardPlan(true, {0, 0, 0});
  using enum model::Pass;
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(names(split.stages[s], {backward, weightGradient}), names(whole.stages[s], {backward}));
    EXPECT_EQ(names(split.stages[s], {forward, recompute, update}),
              names(whole.stages[s], {forward, recompute, update}));
    EXPECT_TRUE(names(whole.stages[s], {weightGradient}).empty());
    expectReadable(split.stages[s]);
  }
  // Stage B's weight pass has the weight gradients of two layers and their sums over micro-batches. The input
  // gradients, which stage A needs, stay in the backward pass.
  const auto weights = names(split.stages[1], {weightGradient}), back = names(split.stages[1], {backward});
  for (const char* part : {"b/conv/grad_weight", "b/linear/grad_weight", "b/conv/weight/accumulate"})
    EXPECT_TRUE(std::any_of(weights.begin(), weights.end(), [&](const std::string& name) {
      return name.find(part) != std::string::npos;
    })) << part;
  for (const char* part : {"b/conv/grad_input", "b/linear/grad_input", "b/relu"})
    EXPECT_TRUE(std::any_of(back.begin(), back.end(), [&](const std::string& name) {
      return name.find(part) != std::string::npos;
    })) << part;
  EXPECT_TRUE(std::none_of(back.begin(), back.end(), [](const std::string& name) {
    return name.find("accumulate") != std::string::npos;
  }));
  // The first stage sends no gradient back, but the gradient of its relu must stay in the backward pass.
  const auto first = names(split.stages[0], {backward});
  EXPECT_TRUE(std::any_of(first.begin(), first.end(),
                          [](const std::string& name) { return name.find("a/relu") != std::string::npos; }));
}

TEST(SplitBackward, PutOffWeightGradientsHaveRings) {
  for (const bool recompute : {true, false}) {
    const ExecutableIr direct = splitBackwardPlan(true, {0, 0, 0}, recompute),
                       putOff = splitBackwardPlan(true, {0, 3, 1}, recompute);
    const auto rings = [](const StageIr& stage) {
      std::multiset<std::int64_t> copies;
      for (const IrTensor& tensor : stage.tensors) {
        if (tensor.use == TensorUse::stash && tensor.name.find("/weight_stash") != std::string::npos)
          copies.insert(tensor.copies);
      }
      return copies;
    };
    for (std::size_t s = 0; s < 3; ++s) EXPECT_TRUE(rings(direct.stages[s]).empty());
    EXPECT_TRUE(rings(putOff.stages[0]).empty());
    EXPECT_TRUE(rings(putOff.stages[2]).empty());  // one pending micro-batch needs no ring
    const auto middle = rings(putOff.stages[1]);
    // The rings hold the gradients of both layers' outputs. With recompute, another holds the linear layer's
    // input.
    EXPECT_EQ(middle.size(), recompute ? 3u : 2u);
    EXPECT_EQ(middle.count(3), middle.size());
    for (const StageIr& stage : putOff.stages) expectReadable(stage);
    // Only weight gradients read the restored values.
    const auto restores = names(putOff.stages[1], {model::Pass::weightGradient}, true);
    EXPECT_EQ(std::count_if(
                  restores.begin(), restores.end(),
                  [](const std::string& name) { return name.find("/weight_restore") != std::string::npos; }),
              4);
    EXPECT_EQ(putOff.stages[1].stashBytesPerEntry, direct.stages[1].stashBytesPerEntry);
  }
}

}  // namespace
}  // namespace pipescope::compile
