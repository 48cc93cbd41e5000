#include "engine/plan/split_costs.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "engine/compile/multi_conv.h"
#include "engine/ops/core/recomputation.h"

namespace pipescope::plan {

using namespace compile;

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Tensor;
using graph::TensorId;
using model::Pass;

namespace {

/// True for nodes that compute from inputs of the model and constants alone, without a product.
std::vector<bool> preparations(const Graph& graph, const ops::OperatorRegistry& registry) {
  std::vector<bool> prepares;
  for (const Node& node : graph.nodes()) {
    bool simple = true;
    for (const TensorId input : node.inputs) {
      const NodeId producer = input.valid() ? graph.tensor(input).producer : NodeId();
      simple = simple && (!producer.valid() || prepares[static_cast<std::size_t>(producer.value)]);
    }
    if (simple) {
      const base::Result<std::vector<ops::Work>> work = ops::workOf(graph, node, registry);
      simple = work.ok() && std::ranges::none_of(*work, [](const ops::Work& each) {
                 return std::holds_alternative<ops::Contraction>(each.item);
               });
    }
    prepares.push_back(simple);
  }
  return prepares;
}

/// Finds the forward node that an operator of a plan comes from.
class Places {
 public:
  Places(const Graph& forward, const std::vector<NodeId>& order) {
    for (std::size_t place = 0; place < order.size(); ++place)
      places_.emplace(forward.node(order[place]).name, place);
    for (std::size_t place = 0; place < order.size(); ++place) {
      const Node& node = forward.node(order[place]);
      if (const std::string group = graph::stringAttribute(node, kMultiConv, ""); !group.empty())
        places_.emplace(group, place);
      for (const TensorId id : node.outputs) add(forward, id, place);
      // Inputs and parameters belong to the first node that reads them.
      for (const TensorId id : node.inputs) {
        if (id.valid() && !forward.tensor(id).producer.valid()) add(forward, id, place);
      }
    }
  }

  /// Gradient nodes are called "<node>/grad_weight", sums of gradients "<tensor>/grad_sum" and so on.
  std::optional<std::size_t> find(std::string name) const {
    while (true) {
      if (const auto found = places_.find(name); found != places_.end()) return found->second;
      const std::size_t slash = name.rfind('/');
      if (slash == std::string::npos) return std::nullopt;
      name.resize(slash);
    }
  }

 private:
  void add(const Graph& graph, TensorId id, std::size_t place) {
    if (id.valid()) places_.emplace(graph.tensor(id).name, place);
  }
  std::map<std::string, std::size_t> places_;
};

/// Charges the time of passes to the places of their operators.
class Charges {
 public:
  Charges(const Places& places, SplitCosts& costs) : places_(places), costs_(costs) {}

  void add(const devices::LoweredPass& pass) {
    if (!chargesStage(pass.pass)) return;
    for (const devices::LoweredSegment& segment : pass.segments) add(pass, segment);
  }

 private:
  void add(const devices::LoweredPass& pass, const devices::LoweredSegment& segment) {
    std::vector<const devices::LoweredStep*> steps;
    for (const devices::LoweredStep& step : segment.steps) steps.push_back(&step);
    std::ranges::stable_sort(steps, {}, [](const auto* step) { return (step->offset + step->ticks).count; });
    std::int64_t until = 0, pending = 0;
    std::optional<std::size_t> place;
    for (const devices::LoweredStep* step : steps) {
      const std::int64_t end = (step->offset + step->ticks).count;
      pending += std::max<std::int64_t>(0, end - until);
      until = std::max(until, end);
      if (step->op < 0) continue;
      const auto found = places_.find(pass.operators[static_cast<std::size_t>(step->op)].name);
      if (!found) continue;
      place = found;
      charge(*place, pass.pass, pending);
      pending = 0;
    }
    if (place) charge(*place, pass.pass, pending);
  }

  void charge(std::size_t place, Pass pass, std::int64_t ticks) {
    costs_.cost[place] += ticks;
    if (pass == Pass::forward) costs_.forward[place] += ticks;
  }

  const Places& places_;
  SplitCosts& costs_;
};

/// Adds up the bytes that cross each cut. A result crosses all cuts between its node and its farthest reader,
/// once. Its gradient comes back over the same cuts, also once, because each stage adds up what it sends.
class Crossings {
 public:
  Crossings(const Graph& graph, const Places& places, std::size_t count)
      : graph_(graph), places_(places), activations_(count + 1, 0), gradients_(count + 1, 0) {}

  void run(bool training, SplitCosts& costs) {
    const std::set<TensorId> trained = training ? trainedResults() : std::set<TensorId>();
    std::map<TensorId, std::size_t> farthest;
    for (const Node& node : graph_.nodes()) {
      const auto reader = node.pass == Pass::forward ? places_.find(node.name) : std::nullopt;
      for (const TensorId input : node.inputs) {
        if (!reader || !input.valid() || !graph_.tensor(input).producer.valid()) continue;
        std::size_t& far = farthest.try_emplace(input, *reader).first->second;
        far = std::max(far, *reader);
      }
    }
    for (const auto& [id, far] : farthest) {
      const Tensor& tensor = graph_.tensor(id);
      const auto from = places_.find(graph_.node(tensor.producer).name);
      if (!from || *from >= far) continue;
      add(activations_, *from, far, tensor.type.bytes().count);
      if (trained.contains(id)) add(gradients_, *from, far, tensor.type.bytes().count);
    }
    costs.activationBytes = sums(activations_);
    costs.gradientBytes = sums(gradients_);
  }

 private:
  /// Results of real numbers that depend on a parameter.
  std::set<TensorId> trainedResults() const {
    std::set<TensorId> trained;
    for (const Node& node : graph_.nodes()) {
      const bool depends = std::ranges::any_of(node.inputs, [&](TensorId id) {
        return id.valid() && (graph_.tensor(id).role == graph::TensorRole::parameter || trained.contains(id));
      });
      if (node.pass != Pass::forward || !depends) continue;
      for (const TensorId id : node.outputs) {
        if (id.valid() && graph_.tensor(id).type.element <= graph::ElementType::float64) trained.insert(id);
      }
    }
    return trained;
  }

  /// Cuts first + 1 … last.
  static void add(std::vector<std::int64_t>& changes, std::size_t first, std::size_t last,
                  std::int64_t bytes) {
    changes[first + 1] += bytes;
    if (last + 1 < changes.size()) changes[last + 1] -= bytes;
  }
  static std::vector<std::int64_t> sums(const std::vector<std::int64_t>& changes) {
    std::vector<std::int64_t> bytes(changes.size() - 1);
    std::partial_sum(changes.begin(), std::prev(changes.end()), bytes.begin());
    return bytes;
  }

  const Graph& graph_;
  const Places& places_;
  std::vector<std::int64_t> activations_, gradients_;  ///< change of the bytes that cross each cut
};

}  // namespace

std::vector<std::int64_t> chargedTicks(const CompiledExecutable& compiled, const Graph& forward,
                                       const std::vector<NodeId>& order, int stages) {
  const Places places(forward, order);
  SplitCosts costs;
  costs.cost.assign(order.size(), 0);
  costs.forward = costs.cost;
  Charges charges(places, costs);
  for (const devices::LoweredDevice& device : compiled.lowered) {
    for (const devices::LoweredPass& pass : device.passes) {
      if (pass.stage < stages) charges.add(pass);
    }
  }
  return std::move(costs.cost);
}

std::vector<NodeId> splitOrder(const Graph& graph, const ops::OperatorRegistry& registry) {
  const std::vector<bool> prepares = preparations(graph, registry);
  const std::size_t count = graph.nodes().size();
  // Position of the first node that does more than prepare inputs and needs the node's result, for each node.
  std::vector<std::size_t> needed(count, count);
  for (std::size_t i = count; i-- > 0;) {
    const bool waits = prepares[i] && needed[i] < count;
    if (!waits) needed[i] = i;
    for (const TensorId input : graph.nodes()[i].inputs) {
      const NodeId producer = input.valid() ? graph.tensor(input).producer : NodeId();
      if (!producer.valid()) continue;
      std::size_t& first = needed[static_cast<std::size_t>(producer.value)];
      first = std::min(first, needed[i]);
    }
  }
  std::vector<NodeId> order;
  for (const Node& node : graph.nodes()) order.push_back(node.id);
  std::ranges::sort(order, {}, [&](NodeId id) {
    const auto i = static_cast<std::size_t>(id.value);
    return std::tuple(needed[i], !prepares[i], i);
  });
  return order;
}

std::vector<bool> splitBorders(const Graph& forward, const std::vector<NodeId>& order) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t p = 0; p < order.size(); ++p) place[static_cast<std::size_t>(order[p].value)] = p;
  std::vector<bool> ofWeights(order.size(), false), borders(order.size(), true);
  std::vector<std::size_t> reader(order.size(), order.size());  // place of the first reader of each node
  for (const Node& node : forward.nodes()) {
    const auto at = static_cast<std::size_t>(node.id.value);
    ofWeights[at] = std::ranges::all_of(node.inputs, [&](TensorId id) {
      if (!id.valid()) return true;
      const Tensor& tensor = forward.tensor(id);
      return tensor.producer.valid() ? ofWeights[static_cast<std::size_t>(tensor.producer.value)]
                                     : tensor.role != graph::TensorRole::input;
    });
    for (const TensorId id : node.inputs) {
      const NodeId producer = id.valid() ? forward.tensor(id).producer : NodeId();
      if (!producer.valid()) continue;
      std::size_t& first = reader[static_cast<std::size_t>(producer.value)];
      first = std::min(first, place[at]);
    }
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!ofWeights[i] || reader[i] == order.size()) continue;
    for (std::size_t p = place[i] + 1; p <= reader[i]; ++p) borders[p] = false;
  }
  std::map<std::string, std::size_t> first;  // first place of each multi-convolution, in the row of places
  for (std::size_t p = 0; p < order.size(); ++p) {
    const std::string group = graph::stringAttribute(forward.node(order[p]), kMultiConv, "");
    if (group.empty()) continue;
    const std::size_t from = first.try_emplace(group, p).first->second;
    std::fill(borders.begin() + static_cast<std::ptrdiff_t>(from + 1),
              borders.begin() + static_cast<std::ptrdiff_t>(p + 1), false);
  }
  return borders;
}

base::Result<SplitCosts> splitCosts(const CompiledExecutable& compiled, const Graph& forward,
                                    const std::vector<NodeId>& order, const Checkpoints& checkpoints) {
  const Places places(forward, order);
  SplitCosts costs;
  costs.cost.assign(order.size(), 0);
  costs.forward = costs.again = costs.cost;
  Charges charges(places, costs);
  for (const devices::LoweredDevice& device : compiled.lowered) {
    for (const devices::LoweredPass& pass : device.passes) charges.add(pass);
  }
  const bool training = compiled.ir.kind == model::ExecutableKind::training;
  Crossings(*compiled.rankGraph, places, order.size()).run(training, costs);
  if (!training) return costs;
  PIPESCOPE_ASSIGN(const Graph again, withRecompute(*compiled.rankGraph, {{blocksOf(*compiled.rankGraph), 0}},
                                                    {true}, checkpoints));
  for (const Node& node : again.nodes()) {
    if (node.pass != Pass::recompute) continue;
    if (const auto place = places.find(ops::originOf(node.name))) costs.again[*place] = costs.forward[*place];
  }
  return costs;
}

}  // namespace pipescope::plan
