// Tests when results are recomputed: directly before their first use, so that checkpoints save memory. The
// memory of a graph is counted here, node by node, independently of plans and devices.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/compile/gradients.h"
#include "engine/compile/recompute.h"
#include "engine/graph/validate.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorId;
using graph::TensorRole;

/// A network of products, relus and residual sums with one row of samples.
class NetworkMaker {
 public:
  NetworkMaker() {
    x_ = graph_.addTensor("samples", {graph::ElementType::float32, {1, 8}}, TensorRole::input);
    labels_ = graph_.addTensor("labels", {graph::ElementType::int32, {1}}, TensorRole::input);
    graph_.inputs = {x_, labels_};
  }
  TensorId samples() const { return x_; }
  std::int64_t width(TensorId id) const { return graph_.tensor(id).type.shape[1]; }
  TensorId product(TensorId x, std::int64_t outputs) {
    const std::string name = "product" + std::to_string(count_);
    const TensorId weight = graph_.addParameter(
        name + "/weight", {graph::ElementType::float32, {width(x), outputs}}, graph::Initializer{});
    return add("MatMul", name, {x, weight});
  }
  TensorId relu(TensorId x) { return add("Relu", "relu" + std::to_string(count_), {x}); }
  TensorId sum(TensorId a, TensorId b) { return add("Add", "sum" + std::to_string(count_), {a, b}); }

  /// The network with its gradients. `x` gives the scores of the classes.
  Graph finish(TensorId x) {
    graph_.loss = add("SoftmaxCrossEntropyLoss", "loss", {x, labels_});
    auto made = addGradients(graph_, ops::standardOperators());
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    return std::move(made).value();
  }

 private:
  TensorId add(const std::string& op, const std::string& name, std::vector<TensorId> inputs) {
    Node node;
    node.op = op;
    node.name = name;
    node.block = "A";
    node.inputs = std::move(inputs);
    auto made =
        ops::appendNode(graph_, std::move(node), {name}, TensorRole::activation, ops::standardOperators());
    PIPESCOPE_CHECK(made.ok(), made.error().message);
    ++count_;
    return made->front();
  }

  Graph graph_;
  TensorId x_, labels_;
  int count_ = 0;
};

/// A random network. With `residual`, sums join tensors of equal width.
Graph randomNetwork(unsigned seed, int layers, bool residual) {
  std::mt19937 random(seed);
  const auto draw = [&](unsigned below) { return static_cast<std::int64_t>(random() % below); };
  NetworkMaker maker;
  std::vector<TensorId> made{maker.product(maker.samples(), 8)};
  for (int i = 0; i < layers; ++i) {
    const TensorId x = made.back();
    std::vector<TensorId> equal;
    for (const TensorId other : made) {
      if (other != x && maker.width(other) == maker.width(x)) equal.push_back(other);
    }
    const std::int64_t choice = draw(residual ? 4 : 2);
    if (choice >= 2 && !equal.empty()) {
      made.push_back(
          maker.sum(x, equal[static_cast<std::size_t>(draw(static_cast<unsigned>(equal.size())))]));
    } else if (choice == 1) {
      made.push_back(maker.relu(x));
    } else {
      made.push_back(maker.product(x, std::int64_t{1} << draw(7)));
    }
  }
  return maker.finish(made.back());
}

std::int64_t tensorBytes(const Graph& graph, TensorId id) {
  return graph.tensor(id).type.bytes().count;
}

/// The most bytes of activations and gradients that live at once while the nodes run in their order. A tensor
/// lives from the node that makes it to its last reader.
std::int64_t peakOf(const Graph& graph) {
  std::map<TensorId, std::size_t> last;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const TensorId id : *list) last[id] = i;
    }
  }
  std::int64_t live = 0, peak = 0;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    for (const TensorId id : node.outputs) live += id.valid() ? tensorBytes(graph, id) : 0;
    peak = std::max(peak, live);
    std::set<TensorId> ended;
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const TensorId id : *list) {
        if (id.valid() && last[id] == i && graph.tensor(id).producer.valid()) ended.insert(id);
      }
    }
    for (const TensorId id : ended) live -= tensorBytes(graph, id);
  }
  EXPECT_LE(live, tensorBytes(graph, *graph.loss)) << "all but the loss is freed";
  return peak;
}

Graph recomputed(const Graph& graph, const Checkpoints& checkpoints, bool whole = false) {
  auto made = withRecompute(graph, {{{"A"}, 0}}, {whole}, checkpoints);
  PIPESCOPE_CHECK(made.ok(), made.error().message);
  PIPESCOPE_CHECK(graph::validate(*made).ok(), "recompute gives a graph in order");
  return std::move(made).value();
}

std::vector<std::string> forwardNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.pass == model::Pass::forward && node.name != "loss") names.push_back(node.name);
  }
  return names;
}

/// Adds the name of each node that `node` reads from, directly or through other recomputed nodes.
void addNeeded(const Graph& graph, const Node& node, std::set<std::string>& needed) {
  for (const TensorId input : node.inputs) {
    const NodeId producer = input.valid() ? graph.tensor(input).producer : NodeId();
    if (!producer.valid() || graph.node(producer).pass != model::Pass::recompute) continue;
    if (needed.insert(graph.node(producer).name).second) addNeeded(graph, graph.node(producer), needed);
  }
}

TEST(RecomputeOrder, WhatRunsAgainServesTheNextBackwardNode) {
  int recomputes = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Graph graph = randomNetwork(seed, 12, seed % 2 == 1);
    const std::vector<std::string> names = forwardNames(graph);
    for (const bool whole : {false, true}) {
      const Graph again = recomputed(graph, {names[seed % names.size()]}, whole);
      std::set<std::string> waiting;
      for (const Node& node : again.nodes()) {
        if (node.pass == model::Pass::recompute) {
          EXPECT_TRUE(waiting.insert(node.name).second);
          ++recomputes;
        } else if (!waiting.empty()) {
          std::set<std::string> needed;
          addNeeded(again, node, needed);
          for (const std::string& name : waiting)
            EXPECT_TRUE(needed.contains(name)) << "seed " << seed << ": " << name << " before " << node.name;
          waiting.clear();
        }
      }
      EXPECT_TRUE(waiting.empty());
    }
  }
  EXPECT_GT(recomputes, 200);
}

/// Six layers, worked out by hand. A product's backward nodes need its input, a relu's its result.
TEST(RecomputeOrder, SegmentsAreFreedBeforeTheNextOneRunsAgain) {
  NetworkMaker maker;
  TensorId x = maker.samples();
  for (int i = 0; i < 6; ++i) x = maker.relu(maker.product(x, 8));
  const Graph graph = maker.finish(x);
  const Graph again = recomputed(graph, {"relu3", "relu7"});
  std::vector<std::string> order;
  for (const Node& node : again.nodes()) {
    if (node.pass == model::Pass::recompute) order.push_back(node.name);
    if (node.name == "relu7/grad_input" || node.name == "relu3/grad_input") order.push_back(node.name);
  }
  // Relus 3 and 7 are kept, and what lies behind relu7 too.
  EXPECT_THAT(order, ::testing::ElementsAre("relu7/grad_input", "product4/recompute", "relu5/recompute",
                                            "relu3/grad_input", "product0/recompute", "relu1/recompute"));
}

TEST(RecomputeOrder, CheckpointsNeverTakeMoreThanKeepingEverything) {
  int smaller = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Graph graph = randomNetwork(seed, 14, seed % 2 == 1);
    const std::int64_t all = peakOf(graph);
    std::mt19937 random(seed);
    const std::vector<std::string> names = forwardNames(graph);
    Checkpoints some;
    for (const std::string& name : names) {
      if (random() % 4 == 0) some.push_back(name);
    }
    if (some.empty()) some.push_back(names.back());
    const std::int64_t peak = peakOf(recomputed(graph, some));
    EXPECT_LE(peak, all) << "seed " << seed;
    smaller += peak < all ? 1 : 0;
  }
  EXPECT_GT(smaller, 100);
}

TEST(RecomputeOrder, AFurtherCheckpointTakesAtMostItsBytes) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    const Graph graph = randomNetwork(seed, 12, seed % 2 == 1);
    std::map<std::string, std::int64_t> bytesOf;
    for (const Node& node : graph.nodes()) bytesOf[node.name] = tensorBytes(graph, node.outputs.front());
    const std::vector<std::string> names = forwardNames(graph);
    const bool chain = seed % 2 == 0;
    // A stage that recomputes as a whole recomputes less with each checkpoint. Another stage recomputes more
    // with a later checkpoint. Residual networks then hold gradients of several tensors meanwhile.
    for (const bool whole : chain ? std::vector<bool>{false, true} : std::vector<bool>{true}) {
      Checkpoints some{names[seed % names.size()]};
      std::int64_t before = peakOf(recomputed(graph, some, whole));
      for (const std::string& further : names) {
        Checkpoints more = some;
        more.push_back(further);
        const std::int64_t peak = peakOf(recomputed(graph, more, whole));
        EXPECT_LE(peak, before + bytesOf.at(further)) << "seed " << seed << ", " << further;
        if (seed % 3 != 0) continue;
        some = more;  // in some networks the checkpoints add up
        before = peak;
      }
    }
  }
}

}  // namespace
}  // namespace pipescope::compile
