// Tests tensors that are off the chip or sharded over replicas. Their bytes and traffic must follow execution
// semantics §4.1, §5.10 and §5.11. Also tests IRs in which several stages use the same device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/builders/layers.h"
#include "engine/compile/gradients.h"
#include "engine/compile/ir_builder.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

/// A graph of two blocks: a linear layer of 6 × 5 weights, and a classifier.
graph::Graph twoLayers(bool training = true) {
  builders::LayersModel model;
  model.sample = {6};
  model.microBatch = 4;
  model.layers = {{"linear", "one", "B1", {{"out_features", 5}}},
                  {"relu", "act", "B1", {}},
                  {"linear", "two", "B2", {{"out_features", 3}}}};
  if (training) model.layers.push_back({"cross_entropy", "loss", "B2", {}});
  auto built = builders::buildLayers(model, ops::standardOperators());
  EXPECT_TRUE(built.ok()) << built.error().message;
  if (!training) return *built;
  auto graph = addGradients(*built, ops::standardOperators());
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return *graph;
}

IrOptions adamw(int replicas, std::int64_t microBatches = 4) {
  IrOptions options;
  options.name = "training";
  options.microBatches = microBatches;
  options.stashEntries = {3, 0};
  options.mesh.replicas = replicas;
  options.mesh.places = 2;
  options.optimizer.kind = "adamw";
  options.optimizer.states = [](const graph::TensorType& type) {
    return std::vector<OptimizerCost::State>{{"moment1", type}, {"moment2", type}};
  };
  options.optimizer.work = [](const graph::TensorType& type) {
    return std::vector<ops::Work>{{ops::Map{ops::MapFunction::adam, type.elements(), 4}, 1, ""}};
  };
  for (TensorLocation* at : {&options.locations.weights, &options.locations.optimizerState,
                             &options.locations.activations, &options.locations.accumulators})
    at->leastSharded = 1;
  return options;
}

StageIr firstStage(const IrOptions& options) {
  const auto ir = buildIr(twoLayers(), {{{"B1"}, 0}, {{"B2"}, 1}}, options, ops::standardOperators());
  EXPECT_TRUE(ir.ok()) << ir.error().message;
  return ir->stages[0];
}

std::int64_t locationsBytesOf(const StageIr& stage, TensorUse use, bool remote) {
  std::int64_t sum = 0;
  for (const IrTensor& tensor : stage.tensors) {
    if (tensor.use == use && tensor.remote == remote) sum += tensor.type.bytes().count * tensor.copies;
  }
  return sum;
}

/// The bytes that a pass loads from remote buffers, and the bytes that it stores there.
std::pair<std::int64_t, std::int64_t> traffic(const StageIr& stage, model::Pass wanted) {
  std::pair<std::int64_t, std::int64_t> sum;
  for (const PassIr& pass : stage.passes) {
    if (pass.pass != wanted) continue;
    for (const IrOperator& op : pass.operators) {
      for (const ops::Work& work : op.work) {
        const auto* copy = std::get_if<ops::HostCopy>(&work.item);
        if (copy && copy->remote) (copy->toDevice ? sum.first : sum.second) += copy->bytes.count;
      }
    }
  }
  return sum;
}

std::vector<std::pair<std::string, std::int64_t>> collectives(const StageIr& stage, model::Pass wanted) {
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (const PassIr& pass : stage.passes) {
    if (pass.pass != wanted) continue;
    for (const IrOperator& op : pass.operators) {
      for (const ops::Work& work : op.work) {
        if (const auto* c = std::get_if<ops::Collective>(&work.item))
          found.emplace_back(op.kind, c->elements);
      }
    }
  }
  return found;
}

using Collectives = std::vector<std::pair<std::string, std::int64_t>>;
constexpr std::int64_t kWeights = 30 + 5;  // elements of the first stage

TEST(Locations, OptimizerStateOffTheChipIsStreamedAroundTheUpdate) {
  IrOptions options = adamw(1);
  options.locations.optimizerState.offChip = true;
  const StageIr stage = firstStage(options);
  EXPECT_EQ(locationsBytesOf(stage, TensorUse::optimizerState, true), 8 * kWeights);
  EXPECT_EQ(locationsBytesOf(stage, TensorUse::optimizerState, false), 0);
  // §5.11: each update reads and writes 8 bytes per parameter.
  EXPECT_EQ(traffic(stage, model::Pass::update), std::pair(8 * kWeights, 8 * kWeights));
  EXPECT_EQ(traffic(stage, model::Pass::backward), std::pair(std::int64_t{0}, std::int64_t{0}));
  // Tensors below the limit stay on the chip.
  options.locations.optimizerState.leastOffChip = 6;
  const StageIr large = firstStage(options);
  EXPECT_EQ(locationsBytesOf(large, TensorUse::optimizerState, true), 8 * 30);
  EXPECT_EQ(locationsBytesOf(large, TensorUse::optimizerState, false), 8 * 5);
}

TEST(Locations, SharesArePadded) {
  // §4.1: four replicas share 30 elements. Each holds 8, which includes two elements of padding in all.
  IrOptions options = adamw(4);
  options.locations.optimizerState.sharded = true;
  options.locations.optimizerState.leastSharded = 30;
  const StageIr stage = firstStage(options);
  std::map<std::string, std::int64_t> elements;
  for (const IrTensor& tensor : stage.tensors) {
    if (tensor.use == TensorUse::optimizerState) elements[tensor.name] = tensor.type.elements();
  }
  EXPECT_EQ(elements["one/weight/moment1"], 8);
  EXPECT_EQ(elements["one/weight/moment2"], 8);
  EXPECT_EQ(elements["one/bias/moment1"], 5) << "too small to share out";
  // Sharded parameters use reduce-scatter and all-gather. The others use all-reduce.
  Collectives sums = collectives(stage, model::Pass::collective);
  std::sort(sums.begin(), sums.end());
  EXPECT_EQ(sums, (Collectives{{"AllReduce", 5}, {"ReduceScatter", 30}}));
  EXPECT_EQ(collectives(stage, model::Pass::update), (Collectives{{"AllGather", 30}}));
}

TEST(Locations, NormsOfSharesAreAddedUpOverReplicas) {
  // §4.1: the norm of a sharded parameter needs an all-reduce of partial sums. LAMB has two norms for each
  // parameter.
  IrOptions options = adamw(4);
  const auto elementwise = options.optimizer.work;
  options.optimizer.work = [elementwise](const graph::TensorType& type) {
    std::vector<ops::Work> work = elementwise(type);
    for (int norm = 0; norm < 2; ++norm)
      work.push_back(
          {ops::Reduce{ops::ReduceFunction::squareSum, 1, type.elements(), true, type.element}, 1, "Norm"});
    return work;
  };
  EXPECT_EQ(collectives(firstStage(options), model::Pass::update), Collectives()) << "whole on every replica";
  options.locations.optimizerState.sharded = true;
  options.locations.optimizerState.leastSharded = 30;
  EXPECT_EQ(collectives(firstStage(options), model::Pass::update),
            (Collectives{{"AllReduce", 2}, {"AllGather", 30}}));
}

TEST(Locations, ShardedStateOffTheChipIsStreamedInShares) {
  IrOptions options = adamw(4);
  options.locations.optimizerState.sharded = options.locations.optimizerState.offChip = true;
  const StageIr stage = firstStage(options);
  const std::int64_t share = 8 + 2;  // ⌈30/4⌉ + ⌈5/4⌉
  EXPECT_EQ(traffic(stage, model::Pass::update), std::pair(8 * share, 8 * share));
}

TEST(Locations, ShardedWeightsAreGatheredForEachPass) {
  IrOptions options = adamw(2);
  options.recompute = true;
  options.locations.weights.sharded = true;
  const StageIr stage = firstStage(options);
  EXPECT_EQ(locationsBytesOf(stage, TensorUse::weight, false), 4 * (15 + 3));
  EXPECT_EQ(collectives(stage, model::Pass::forward), (Collectives{{"AllGather", kWeights}}));
  // The first stage's backward nodes read no weights, but what it recomputes does.
  EXPECT_EQ(collectives(stage, model::Pass::backward), (Collectives{{"AllGather", kWeights}}));
  EXPECT_EQ(collectives(stage, model::Pass::collective), (Collectives{{"ReduceScatter", kWeights}}));
  EXPECT_TRUE(collectives(stage, model::Pass::update).empty()) << "shares are updated where they lie";
}

TEST(Locations, WeightsOffTheChipAreLoadedForEachPassAndStoredOnce) {
  IrOptions options = adamw(1);
  options.recompute = true;
  options.locations.weights.offChip = true;
  const StageIr stage = firstStage(options);
  EXPECT_EQ(locationsBytesOf(stage, TensorUse::weight, true), 4 * kWeights);
  EXPECT_EQ(locationsBytesOf(stage, TensorUse::weight, false), 0);
  EXPECT_EQ(traffic(stage, model::Pass::forward), std::pair(4 * kWeights, std::int64_t{0}));
  EXPECT_EQ(traffic(stage, model::Pass::backward).first, 4 * kWeights);
  EXPECT_EQ(traffic(stage, model::Pass::update), std::pair(4 * kWeights, 4 * kWeights));
}

TEST(Locations, ActivationsOffTheChipLeaveTheRing) {
  IrOptions options = adamw(1);
  const std::int64_t entry = firstStage(options).stashBytesPerEntry.count;
  EXPECT_GT(entry, 0);
  options.locations.activations.offChip = true;
  const StageIr stage = firstStage(options);
  EXPECT_EQ(stage.stashBytesPerEntry.count, 0);
  EXPECT_EQ(locationsBytesOf(stage, TensorUse::stash, true), 3 * entry);
  EXPECT_EQ(locationsBytesOf(stage, TensorUse::stash, false), 0);
  EXPECT_EQ(traffic(stage, model::Pass::forward), std::pair(std::int64_t{0}, entry));
  EXPECT_EQ(traffic(stage, model::Pass::backward), std::pair(entry, std::int64_t{0}));
}

TEST(Locations, AccumulatorsOffTheChipComeAndGoWithEachMicroBatch) {
  IrOptions options = adamw(1);
  options.locations.accumulators.offChip = true;
  const StageIr stage = firstStage(options);
  EXPECT_EQ(locationsBytesOf(stage, TensorUse::accumulator, true), 4 * kWeights);
  EXPECT_EQ(traffic(stage, model::Pass::backward), std::pair(4 * kWeights, 4 * kWeights));
  EXPECT_EQ(traffic(stage, model::Pass::update), std::pair(4 * kWeights, std::int64_t{0}));
  options.locations.accumulators.sharded = true;
  options.mesh.replicas = 4;
  const StageIr shared = firstStage(options);
  EXPECT_EQ(locationsBytesOf(shared, TensorUse::accumulator, true), 4 * (8 + 2));
  Collectives scattered = collectives(shared, model::Pass::backward);
  std::sort(scattered.begin(), scattered.end());
  EXPECT_EQ(scattered, (Collectives{{"ReduceScatter", 5}, {"ReduceScatter", 30}}));
  EXPECT_TRUE(collectives(shared, model::Pass::collective).empty()) << "they are summed already";
}

TEST(Locations, BucketsFollowTheBackwardPass) {
  IrOptions options = adamw(2, 1);
  options.gradientBuckets = {base::Bytes(4 * 5), base::Bytes(1000)};
  const StageIr stage = firstStage(options);
  std::int64_t all = 0;
  const Collectives sums = collectives(stage, model::Pass::collective);
  ASSERT_EQ(sums.size(), 2u);
  for (const auto& [kind, elements] : sums) {
    EXPECT_EQ(kind, "AllReduce");
    all += elements;
  }
  EXPECT_EQ(all, kWeights);
  // The gradient of the 30 weights comes first and fills its bucket exactly.
  options.gradientBuckets = {base::Bytes(4 * 30), base::Bytes(1000)};
  EXPECT_EQ(collectives(firstStage(options), model::Pass::collective),
            (Collectives{{"AllReduce", 30}, {"AllReduce", 5}}));
}

/// DeepSpeed's ZeRO-2: a replica keeps its share of each gradient from the backward pass on, summed in
/// bundles.
TEST(Locations, SharesOfGradientsAreSummedInBundles) {
  IrOptions options = adamw(2, 1);
  options.locations.accumulators.sharded = true;
  options.gradientBuckets = {base::Bytes(4), base::Bytes(1000)};
  const StageIr stage = firstStage(options);
  EXPECT_EQ(collectives(stage, model::Pass::backward), (Collectives{{"ReduceScatter", kWeights}}));
  EXPECT_TRUE(collectives(stage, model::Pass::collective).empty());
  std::int64_t shares = 0;
  for (const IrTensor& tensor : stage.tensors)
    shares += tensor.name.ends_with("/gradient_share") ? tensor.type.elements() : 0;
  EXPECT_EQ(shares, 15 + 3);
  options.gradientBuckets.back() = base::Bytes(4 * 30);
  EXPECT_EQ(collectives(firstStage(options), model::Pass::backward),
            (Collectives{{"ReduceScatter", 30}, {"ReduceScatter", 5}}));
  options.reduceScatter = false;
  EXPECT_EQ(collectives(firstStage(options), model::Pass::backward),
            (Collectives{{"AllReduce", 30}, {"AllReduce", 5}}));
  // Sums over micro-batches add each share behind the next bundle, which travels meanwhile.
  options.microBatches = 4;
  std::string order;
  for (const PassIr& pass : firstStage(options).passes)
    for (const IrOperator& op : pass.operators)
      order += op.kind == "AllReduce" ? "s" : op.kind == "Accumulate" ? "a" : "";
  EXPECT_EQ(order, "ssaa");
}

/// DeepSpeed's ZeRO-3: only the weights of one block are there at a time, and those of the next one arrive.
/// Bytes for each parameter of Megatron-LM's mixed precision (its user guide, "Distributed Optimizer"): with
/// bfloat16 weights 2 and float32 gradients 4; with float16 weights 2, gradients 2, and their float32 copies
/// 4 for the update. The distributed optimizer divides the copies, but not the buffers.
TEST(Locations, BuffersOfGradientsStayEvenForOneMicroBatch) {
  IrOptions options = adamw(4, 1);
  options.accumulator = graph::ElementType::float32;
  EXPECT_EQ(locationsBytesOf(firstStage(options), TensorUse::accumulator, false), 0);
  options.gradientBuffers = true;
  EXPECT_EQ(locationsBytesOf(firstStage(options), TensorUse::accumulator, false), 4 * kWeights);
  const auto copies = [&] {
    std::map<std::string, std::int64_t> bytes;
    for (const IrTensor& tensor : firstStage(options).tensors) {
      if (tensor.name.ends_with("/main_gradient")) bytes[tensor.name] = tensor.type.bytes().count;
    }
    return bytes;
  };
  options.masterWeights = true;
  EXPECT_TRUE(copies().empty()) << "sums in float32 need no copies";
  options.accumulator = graph::ElementType::float16;
  EXPECT_EQ(locationsBytesOf(firstStage(options), TensorUse::accumulator, false), 2 * kWeights);
  using Copies = std::map<std::string, std::int64_t>;
  EXPECT_EQ(copies(), (Copies{{"one/bias/main_gradient", 4 * 5}, {"one/weight/main_gradient", 4 * 30}}));
  // Each of four replicas updates 30 / 4 and 5 / 4 elements, rounded up.
  options.locations.optimizerState.sharded = true;
  EXPECT_EQ(copies(), (Copies{{"one/bias/main_gradient", 4 * 2}, {"one/weight/main_gradient", 4 * 8}}));
  EXPECT_EQ(locationsBytesOf(firstStage(options), TensorUse::accumulator, false), 2 * kWeights);
}

/// All gradients are copied before the first update, so that the copies are there at the same time.
TEST(Locations, CopiesOfGradientsComeBeforeUpdates) {
  IrOptions options = adamw(1, 1);
  options.accumulator = graph::ElementType::float16;
  options.gradientBuffers = options.masterWeights = true;
  std::vector<std::string> kinds;
  for (const PassIr& pass : firstStage(options).passes) {
    if (pass.pass != model::Pass::update) continue;
    for (const IrOperator& op : pass.operators) kinds.push_back(op.kind);
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"Cast", "Cast", "adamw", "adamw"}));
}

TEST(Locations, WeightsMayBeGatheredBlockByBlock) {
  IrOptions options = adamw(2);
  options.locations.weights.sharded = true;
  options.stashEntries = {0};
  const auto gathers = [&] {
    const auto ir = buildIr(twoLayers(), {{{"B1", "B2"}, 0}}, options, ops::standardOperators());
    EXPECT_TRUE(ir.ok());
    std::map<model::Pass, std::vector<std::pair<std::string, std::string>>> found;  // with what follows each
    for (const PassIr& pass : ir->stages[0].passes) {
      for (std::size_t i = 0; i < pass.operators.size(); ++i) {
        if (pass.operators[i].kind == "AllGather" && pass.pass != model::Pass::update)
          found[pass.pass].emplace_back(pass.operators[i].name, pass.operators[i + 1].block);
      }
    }
    for (const IrTensor& tensor : ir->stages[0].tensors) {
      if (tensor.name.ends_with("/loaded")) {
        EXPECT_EQ(tensor.use, TensorUse::gatheredWeight);
      }
    }
    return found;
  };
  using Gathers = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(gathers()[model::Pass::forward], (Gathers{{"stage0/gather_weights", "B1"}}));
  options.gatherByBlock = true;
  EXPECT_EQ(gathers()[model::Pass::forward],
            (Gathers{{"B1/gather_weights", ""}, {"B2/gather_weights", "B1"}}));
  // Only the second layer's input has a gradient, which needs its weight.
  EXPECT_EQ(gathers()[model::Pass::backward], (Gathers{{"B2/gather_weights", "B2"}}));
}

TEST(Locations, ParametersMayHaveCollectivesOfTheirOwn) {
  IrOptions options = adamw(2);
  options.mergeCollectives = false;
  using ::testing::UnorderedElementsAre;
  using One = Collectives::value_type;
  EXPECT_THAT(collectives(firstStage(options), model::Pass::collective),
              UnorderedElementsAre(One("AllReduce", 30), One("AllReduce", 5)));
  // Shared state makes each parameter's gradient scattered and its weight gathered.
  options.locations.optimizerState.sharded = true;
  EXPECT_THAT(collectives(firstStage(options), model::Pass::collective),
              UnorderedElementsAre(One("ReduceScatter", 30), One("ReduceScatter", 5)));
  EXPECT_THAT(collectives(firstStage(options), model::Pass::update),
              UnorderedElementsAre(One("AllGather", 30), One("AllGather", 5)));
}

/// Memory that stays on the device without a value of its own holds keys and values, and is no constant.
TEST(Locations, MemoryWithoutAValueIsACache) {
  graph::Graph graph;
  const graph::TensorType type{graph::ElementType::float32, {2, 3}};
  graph.inputs = {graph.addTensor("x", type, graph::TensorRole::input)};
  const graph::TensorId cache = graph.addTensor("key_cache", type, graph::TensorRole::constant);
  const graph::TensorId table =
      graph.addConstant("table", type, std::vector<std::byte>(static_cast<std::size_t>(type.bytes().count)));
  graph::TensorId at = graph.inputs[0];
  for (const graph::TensorId other : {cache, table}) {
    graph::Node node;
    node.name = node.block = graph.tensor(other).name;
    node.op = "Add";
    node.inputs = {at, other};
    at = ops::appendNode(graph, std::move(node), {"sum_" + graph.tensor(other).name},
                         graph::TensorRole::activation, ops::standardOperators())
             .value()[0];
  }
  graph.outputs = {at};
  IrOptions options;
  options.kind = model::ExecutableKind::inference;
  options.stashEntries = {0};
  const auto ir = buildIr(graph, {{{"key_cache", "table"}, 0}}, options, ops::standardOperators());
  ASSERT_TRUE(ir.ok()) << ir.error().message;
  std::map<std::string, TensorUse> uses;
  for (const IrTensor& tensor : ir->stages[0].tensors) uses[tensor.name] = tensor.use;
  EXPECT_EQ(uses["key_cache"], TensorUse::cache);
  EXPECT_EQ(uses["table"], TensorUse::constant);
  EXPECT_EQ(toString(TensorUse::cache), "cache");
  EXPECT_EQ(toString(TensorUse::gatheredWeight), "gathered_weight");
  EXPECT_TRUE(isAlwaysLive(TensorUse::cache));
  EXPECT_FALSE(isAlwaysLive(TensorUse::gatheredWeight));
}

// --- Several stages on one device ---------------------------------------------------

/// A chain a → b → c → d in which d also reads a's result, which skips two stages.
graph::Graph skipping() {
  graph::Graph graph;
  const graph::TensorType type{graph::ElementType::float32, {2, 3}};
  graph.inputs = {graph.addTensor("x", type, graph::TensorRole::input)};
  graph::TensorId at = graph.inputs[0];
  std::map<std::string, graph::TensorId> made;
  for (const std::string name : {"a", "b", "c", "d"}) {
    graph::Node node;
    node.name = node.block = name;
    node.op = name == "d" ? "Add" : "Relu";
    node.inputs = {at};
    if (name == "d") node.inputs.push_back(made["a"]);
    const auto out = ops::appendNode(graph, std::move(node), {name + "/out"}, graph::TensorRole::activation,
                                     ops::standardOperators());
    EXPECT_TRUE(out.ok()) << out.error().message;
    at = made[name] = (*out)[0];
  }
  graph.outputs = {at};
  return graph;
}

TEST(Revisits, SkipsGoHopByHopAlsoOverADeviceThatComesBack) {
  IrOptions options;
  options.name = "inference";
  options.kind = model::ExecutableKind::inference;
  options.stashEntries = {0, 0, 0, 0};
  for (const std::vector<int>& devices : {std::vector<int>{0, 1, 2, 3}, {0, 1, 2, 1}}) {
    std::vector<StageSpec> stages;
    for (std::size_t s = 0; s < 4; ++s)
      stages.push_back({{std::string(1, static_cast<char>('a' + s))}, devices[s]});
    const auto ir = buildIr(skipping(), stages, options, ops::standardOperators());
    ASSERT_TRUE(ir.ok()) << ir.error().message;
    std::map<std::string, std::vector<std::pair<int, int>>> hops;
    for (const BoundaryTensor& b : ir->boundaries) hops[b.name].emplace_back(b.fromStage, b.toStage);
    for (auto& [name, list] : hops) std::sort(list.begin(), list.end());
    EXPECT_EQ(hops["a/out"], (std::vector<std::pair<int, int>>{{0, 1}, {1, 2}, {2, 3}}));
    EXPECT_EQ(hops["b/out"], (std::vector<std::pair<int, int>>{{1, 2}}));
    EXPECT_EQ(hops["c/out"], (std::vector<std::pair<int, int>>{{2, 3}}));
    // Stage 2 does not use the tensor, but must hold it to pass it on.
    const StageIr& between = ir->stages[2];
    EXPECT_TRUE(std::any_of(between.tensors.begin(), between.tensors.end(), [](const IrTensor& t) {
      return t.name == "a/out" && t.use == TensorUse::input;
    }));
  }
}

}  // namespace
}  // namespace pipescope::compile
