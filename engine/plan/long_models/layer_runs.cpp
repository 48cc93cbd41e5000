#include "engine/plan/long_models/layer_runs.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

namespace pipescope::plan {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Tensor;
using graph::TensorId;

namespace {

/// Positions of nodes in an order.
std::vector<std::size_t> positionsOf(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<std::size_t> at(graph.nodes().size());
  for (std::size_t p = 0; p < order.size(); ++p) at[static_cast<std::size_t>(order[p].value)] = p;
  return at;
}

bool equalAttributes(const graph::Attributes& a, const graph::Attributes& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    if (one.first != other.first) return false;
    const auto* const x = std::get_if<std::shared_ptr<const graph::TensorValue>>(&one.second);
    const auto* const y = std::get_if<std::shared_ptr<const graph::TensorValue>>(&other.second);
    if (x == nullptr || y == nullptr || *x == nullptr || *y == nullptr) return one.second == other.second;
    return (*x)->type == (*y)->type && (*x)->bytes == (*y)->bytes;
  });
}

class RunFinder {
 public:
  RunFinder(const Graph& graph, const std::vector<NodeId>& order, std::size_t least)
      : graph_(graph), order_(order), least_(least), at_(positionsOf(graph, order)) {
    for (const NodeId id : order_) kinds_.push_back(kindOf(graph_.node(id)));
    std::unordered_map<std::size_t, std::size_t> later;
    next_.assign(order_.size(), order_.size());
    for (std::size_t p = order_.size(); p-- > 0;) {
      const auto [known, isNew] = later.try_emplace(kinds_[p], p);
      if (!isNew) next_[p] = std::exchange(known->second, p);
    }
  }

  std::vector<LayerRun> find() const {
    std::vector<LayerRun> runs;
    for (std::size_t p = 0; p < order_.size();) {
      const LayerRun run = runAt(p);
      if (run.count >= least_) runs.push_back(run);
      p = run.count >= least_ ? run.end() : p + 1;
    }
    return runs;
  }

 private:
  std::size_t kindOf(const Node& node) const {
    std::size_t kind = std::hash<std::string>()(node.op);
    const auto mix = [&](std::size_t more) { kind = kind * 1'000'003 + more; };
    mix(node.inputs.size());
    for (const TensorId id : node.outputs) {
      if (!id.valid()) continue;
      for (const std::int64_t extent : graph_.tensor(id).type.shape) mix(static_cast<std::size_t>(extent));
    }
    return kind;
  }

  /// The longest run whose first layer begins at this position.
  LayerRun runAt(std::size_t first) const {
    constexpr int kMostSizes = 500;
    int sizes = 0;
    for (std::size_t q = next_[first]; q < order_.size() && sizes < kMostSizes; q = next_[q], ++sizes) {
      const std::size_t size = q - first;
      if (first + size * least_ > order_.size()) break;
      std::size_t end = first;
      while (end + size < order_.size() && equalNodes(first, end, size)) ++end;
      const std::size_t count = (end - first) / size + 1;
      if (count >= least_) return {first, size, count};
    }
    return {};
  }

  /// True if the node at a position equals the one `size` positions later.
  bool equalNodes(std::size_t first, std::size_t position, std::size_t size) const {
    if (kinds_[position] != kinds_[position + size]) return false;
    const Node &a = graph_.node(order_[position]), &b = graph_.node(order_[position + size]);
    const auto layer = first + (position + size - first) / size * size;
    return a.op == b.op && a.pass == b.pass && equalAttributes(a.attributes, b.attributes) &&
           std::ranges::equal(a.outputs, b.outputs,
                              [&](TensorId x, TensorId y) { return equalResults(x, y); }) &&
           std::ranges::equal(a.inputs, b.inputs,
                              [&](TensorId x, TensorId y) { return equalSources(x, y, size, layer - size); });
  }
  bool equalResults(TensorId a, TensorId b) const {
    if (!a.valid() || !b.valid()) return a.valid() == b.valid();
    return graph_.tensor(a).type == graph_.tensor(b).type && graph_.tensor(a).role == graph_.tensor(b).role;
  }
  /// `earliest`: position of the first node that the later layer may read as a layer of the run.
  bool equalSources(TensorId a, TensorId b, std::size_t size, std::size_t earliest) const {
    if (a == b) return true;
    if (!equalResults(a, b) || !a.valid()) return false;
    const Tensor &x = graph_.tensor(a), &y = graph_.tensor(b);
    if (x.producer.valid() != y.producer.valid()) return false;
    if (!x.producer.valid()) return x.role == graph::TensorRole::parameter || equalConstants(a, b);
    const std::size_t from = positionOf(x.producer), to = positionOf(y.producer);
    return to == from + size && to >= earliest && outputOf(x) == outputOf(y);
  }
  bool equalConstants(TensorId a, TensorId b) const {
    const graph::Constant *x = graph_.constant(a), *y = graph_.constant(b);
    if (x == nullptr || y == nullptr) return false;
    if (x->known() != nullptr && y->known() != nullptr) return *x->known() == *y->known();
    return x->known() == y->known() && x->pattern() == y->pattern() &&
           x->pattern() != graph::Constant::Pattern::none;
  }
  std::size_t positionOf(NodeId id) const { return at_[static_cast<std::size_t>(id.value)]; }
  std::ptrdiff_t outputOf(const Tensor& tensor) const {
    const std::vector<TensorId>& outputs = graph_.node(tensor.producer).outputs;
    return std::ranges::find(outputs, tensor.id) - outputs.begin();
  }

  const Graph& graph_;
  const std::vector<NodeId>& order_;
  std::size_t least_;
  std::vector<std::size_t> at_;     ///< position of each node
  std::vector<std::size_t> kinds_;  ///< by position: equal nodes have equal numbers
  std::vector<std::size_t> next_;   ///< by position: the next node of this kind
};

/// Copies a graph without some layers.
class LayerRemover {
 public:
  LayerRemover(const Graph& source, const std::vector<NodeId>& order, const std::vector<LayerGap>& gaps)
      : source_(source), order_(order), at_(positionsOf(source, order)) {
    gapOf_.assign(order.size(), nullptr);
    for (const LayerGap& gap : gaps) {
      for (std::size_t p = gap.begin; p < gap.end; ++p) gapOf_[p] = &gap;
    }
  }

  std::optional<Graph> run() {
    for (const Node& node : source_.nodes()) {
      const std::size_t position = at_[static_cast<std::size_t>(node.id.value)];
      if (gapOf_[position] == nullptr && !copy(node, position)) return std::nullopt;
    }
    for (const TensorId id : source_.inputs) result_.inputs.push_back(copied(id));
    for (const TensorId id : source_.outputs) {
      if (!map_.contains(id)) return std::nullopt;
      result_.outputs.push_back(map_.at(id));
    }
    if (source_.loss && !map_.contains(*source_.loss)) return std::nullopt;
    if (source_.loss) result_.loss = map_.at(*source_.loss);
    return std::move(result_);
  }

 private:
  bool copy(const Node& node, std::size_t position) {
    Node own = node;
    for (TensorId& input : own.inputs) {
      if (!input.valid()) continue;
      const std::optional<TensorId> source = sourceOf(input, position);
      if (!source || (source_.tensor(*source).producer.valid() && !map_.contains(*source))) return false;
      input = copied(*source);
    }
    for (TensorId& output : own.outputs) {
      if (!output.valid()) continue;
      const Tensor& tensor = source_.tensor(output);
      output = map_[tensor.id] = result_.addTensor(tensor.name, tensor.type, tensor.role);
    }
    result_.addNode(std::move(own));
    return true;
  }

  /// Returns the tensor that a node reads instead of one of a gap: the same one of the layer before the gap.
  std::optional<TensorId> sourceOf(TensorId input, std::size_t reader) const {
    const NodeId producer = source_.tensor(input).producer;
    if (!producer.valid()) return input;
    const std::size_t from = at_[static_cast<std::size_t>(producer.value)];
    const LayerGap* const gap = gapOf_[from];
    if (gap == nullptr) return input;
    if (reader < gap->end || reader >= gap->end + gap->size || from + gap->size < gap->end)
      return std::nullopt;
    const std::vector<TensorId>& outputs = source_.node(producer).outputs;
    const auto index = std::ranges::find(outputs, input) - outputs.begin();
    const NodeId instead = order_[from - (gap->end - gap->begin)];
    return source_.node(instead).outputs[static_cast<std::size_t>(index)];
  }

  TensorId copied(TensorId id) {
    const auto known = map_.find(id);
    if (known != map_.end()) return known->second;
    const Tensor& tensor = source_.tensor(id);
    TensorId copy;
    if (tensor.role == graph::TensorRole::parameter)
      copy = result_.addParameter(tensor.name, tensor.type, source_.initializer(id));
    else if (const graph::Constant* value = source_.constant(id))
      copy = result_.shareConstant(tensor.name, tensor.type, *value);
    else
      copy = result_.addTensor(tensor.name, tensor.type, tensor.role);
    return map_[id] = copy;
  }

  const Graph& source_;
  const std::vector<NodeId>& order_;
  std::vector<std::size_t> at_;
  std::vector<const LayerGap*> gapOf_;  ///< by position
  Graph result_;
  std::unordered_map<TensorId, TensorId> map_;
};

}  // namespace

std::vector<LayerRun> layerRuns(const Graph& forward, const std::vector<NodeId>& order, std::size_t least) {
  if (!forward.stateUpdates.empty() || least < 2) return {};
  return RunFinder(forward, order, least).find();
}

std::optional<Graph> withoutLayers(const Graph& forward, const std::vector<NodeId>& order,
                                   const std::vector<LayerGap>& gaps) {
  return LayerRemover(forward, order, gaps).run();
}

}  // namespace pipescope::plan
