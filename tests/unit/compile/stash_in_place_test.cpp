// Tests stashes that are written in place, as on cards with HBM: nothing is copied, and nothing is kept
// twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/builders/layers.h"
#include "engine/compile/gradients.h"
#include "engine/compile/ir_builder.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

graph::Graph threeBlocks() {
  builders::LayersModel model;
  model.sample = {1, 12, 12};
  model.microBatch = 4;
  model.layers = {{"conv", "a/conv", "A", {{"out_channels", 3}, {"kernel_size", 3}}},
                  {"relu", "a/relu", "A", {}},
                  {"flatten", "b/flatten", "B", {}},
                  {"linear", "b/linear", "B", {{"out_features", 8}}},
                  {"relu", "b/relu", "B", {}},
                  {"linear", "c/linear", "C", {{"out_features", 5}}},
                  {"cross_entropy", "loss", "C", {}}};
  auto built = builders::buildLayers(model, ops::standardOperators());
  EXPECT_TRUE(built.ok()) << built.error().message;
  auto withGradients = addGradients(*built, ops::standardOperators());
  EXPECT_TRUE(withGradients.ok()) << withGradients.error().message;
  return std::move(withGradients).value();
}

ExecutableIr stashPlanOf(bool inPlace, bool recompute, std::vector<std::int64_t> weightEntries = {}) {
  IrOptions options;
  options.recompute = recompute;
  options.microBatches = 8;
  options.stashEntries = {5, 3, 0};
  options.stashInPlace = inPlace;
  options.splitBackward = !weightEntries.empty();
  options.weightEntries = std::move(weightEntries);
  options.optimizer.states = [](const graph::TensorType&) { return std::vector<OptimizerCost::State>(); };
  options.optimizer.work = [](const graph::TensorType& type) {
    return std::vector<ops::Work>{{ops::Map{ops::MapFunction::add, type.elements(), 4}, 1, ""}};
  };
  auto built =
      buildIr(threeBlocks(), {{{"A"}, 0}, {{"B"}, 1}, {{"C"}, 2}}, options, ops::standardOperators());
  EXPECT_TRUE(built.ok()) << built.error().message;
  return std::move(built).value();
}

std::multimap<std::int64_t, std::int64_t> ringsOf(const StageIr& stage) {
  std::multimap<std::int64_t, std::int64_t> rings;  // bytes of an entry, entries
  for (const IrTensor& tensor : stage.tensors)
    if (tensor.use == TensorUse::stash) rings.emplace(tensor.type.bytes().count, tensor.copies);
  return rings;
}

std::int64_t copiesOf(const StageIr& stage) {
  std::int64_t copies = 0;
  for (const PassIr& pass : stage.passes)
    copies += std::ranges::count_if(
        pass.operators, [](const IrOperator& op) { return op.kind == "Stash" || op.kind == "Restore"; });
  return copies;
}

TEST(StashInPlace, KeepsTheSameBytesWithoutCopies) {
  for (const bool recompute : {true, false}) {
    const ExecutableIr copied = stashPlanOf(false, recompute), kept = stashPlanOf(true, recompute);
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_EQ(copiesOf(kept.stages[s]), 0) << s;
      EXPECT_EQ(copiesOf(copied.stages[s]) > 0, s < 2) << s;
      EXPECT_EQ(ringsOf(kept.stages[s]).empty(), s == 2) << s;
      // The IRs differ in copies only.
      std::int64_t operators[2] = {0, 0};
      for (const PassIr& pass : copied.stages[s].passes)
        operators[0] += static_cast<std::int64_t>(pass.operators.size());
      for (const PassIr& pass : kept.stages[s].passes)
        operators[1] += static_cast<std::int64_t>(pass.operators.size());
      EXPECT_EQ(operators[0] - copiesOf(copied.stages[s]), operators[1]) << s;
    }
    EXPECT_EQ(ringsOf(kept.stages[0]), ringsOf(copied.stages[0]));
    EXPECT_EQ(kept.stages[0].stashBytesPerEntry, copied.stages[0].stashBytesPerEntry);
  }
}

/// The stage's input is 4 × 3 × 10 × 10 floats. Its flattened form is the same memory, and is kept once.
TEST(StashInPlace, ViewsAreKeptOnce) {
  const StageIr stage = stashPlanOf(true, false).stages[1];
  const std::int64_t input = 4 * 3 * 10 * 10 * 4, result = 4 * 8 * 4;
  const auto rings = ringsOf(stage);
  EXPECT_EQ(rings.count(input), 1u);
  for (const auto& [bytes, entries] : rings) {
    EXPECT_TRUE(bytes == input || bytes == result) << bytes;
    EXPECT_EQ(entries, 3);
  }
  std::int64_t all = 0;
  for (const auto& [bytes, entries] : rings) all += bytes;
  EXPECT_EQ(stage.stashBytesPerEntry.count, all);
}

/// Inputs of waiting weight gradients stay in place, too, also in a stage that stashes nothing else.
TEST(StashInPlace, WeightGradientsReadWhatStayed) {
  const ExecutableIr kept = stashPlanOf(true, false, {5, 3, 4});
  for (const StageIr& stage : kept.stages) {
    EXPECT_EQ(copiesOf(stage), 0);
    std::map<IrTensorId, IrTensorId> viewOf;  // the result of an operator without Work is a view
    for (const PassIr& pass : stage.passes) {
      for (const IrOperator& op : pass.operators)
        if (op.work.empty() && !op.outputs.empty()) viewOf[op.outputs[0]] = op.inputs[0];
      if (pass.pass != model::Pass::weightGradient) continue;
      std::set<IrTensorId> made;
      for (const IrOperator& op : pass.operators) {
        for (IrTensorId id : op.inputs) {
          while (viewOf.contains(id) && !made.contains(id)) id = viewOf.at(id);
          EXPECT_TRUE(made.contains(id) || isAlwaysLive(stage.tensors[id].use))
              << op.name << " " << stage.tensors[id].name;
        }
        made.insert(op.outputs.begin(), op.outputs.end());
      }
    }
  }
  EXPECT_FALSE(ringsOf(kept.stages[2]).empty());
  for (const auto& [bytes, entries] : ringsOf(kept.stages[2])) EXPECT_EQ(entries, 4);
  EXPECT_EQ(kept.stages[2].stashBytesPerEntry.count, 0) << "its backward pass follows at once";
}

}  // namespace
}  // namespace pipescope::compile
