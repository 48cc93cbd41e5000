#include "engine/compile/attention_finder.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "engine/compile/causal_mask.h"

namespace pipescope::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

class AttentionFinder {
 public:
  AttentionFinder(const Graph& graph, std::int64_t leastKeys, const ops::OperatorRegistry& registry)
      : graph_(graph), leastKeys_(leastKeys), registry_(registry), masks_(graph) {
    for (const Node& node : graph.nodes()) {
      bool trained = false;
      for (const TensorId input : node.inputs) {
        if (!input.valid()) continue;
        readers_[input].push_back(node.id);
        trained = trained || isTrained(input);
      }
      if (trained) trained_.insert(node.outputs.begin(), node.outputs.end());
    }
    results_.insert(graph.outputs.begin(), graph.outputs.end());
    if (graph.loss) results_.insert(*graph.loss);
  }

  /// Finds every attention of the graph, keyed by its last node.
  std::map<NodeId, FoundAttention> find() const {
    std::map<NodeId, FoundAttention> found;
    for (const Node& node : graph_.nodes()) {
      if (node.op != "MatMul" || isTrainedRoot(node.inputs[1])) continue;
      if (auto attention = from(node)) found[attention->nodes.back()] = std::move(*attention);
    }
    return found;
  }

 private:
  bool isTrainedRoot(TensorId id) const { return graph_.tensor(id).role == graph::TensorRole::parameter; }
  bool isTrained(TensorId id) const { return isTrainedRoot(id) || trained_.contains(id); }

  const Node* onlyReader(TensorId id) const {
    const auto found = readers_.find(id);
    const bool one = found != readers_.end() && found->second.size() == 1 && !results_.contains(id);
    return one ? &graph_.node(found->second.front()) : nullptr;
  }

  /// True if ranks have queries of their own positions, and gather the keys of all.
  bool gathersKeys(const Node& product) const {
    const NodeId maker = graph_.tensor(product.inputs[1]).producer;
    return maker.valid() && graph_.node(maker).op == "RankGather";
  }

  std::optional<FoundAttention> from(const Node& product) const {
    const TensorId scores = product.outputs[0];
    const graph::Shape& shape = graph_.tensor(scores).type.shape;
    if (shape.size() < 2) return std::nullopt;
    const std::int64_t queries = shape[shape.size() - 2], keys = shape.back();
    if (keys < leastKeys_ || (queries < keys && !gathersKeys(product))) return std::nullopt;
    FoundAttention attention{.nodes = {product.id}};
    TensorId at = scores;
    while (const Node* reader = onlyReader(at)) {
      if (reader->block != product.block || reader->outputs.empty()) return std::nullopt;
      attention.nodes.push_back(reader->id);
      if (reader->op == "MatMul") {
        const bool whole = attention.softmax && reader->inputs[0] == at && reader->inputs[1] != at &&
                           graph_.tensor(at).type.shape == shape && !isTrainedRoot(reader->inputs[1]);
        return whole ? std::optional(std::move(attention)) : std::nullopt;
      }
      if (!takeIn(*reader, at, keys, attention)) return std::nullopt;
      at = reader->outputs[0];
    }
    return std::nullopt;
  }

  /// Takes in an operator on scores; false: it is none that can be fused.
  bool takeIn(const Node& node, TensorId scores, std::int64_t keys, FoundAttention& attention) const {
    const graph::TensorType &from = graph_.tensor(scores).type, &to = graph_.tensor(node.outputs[0]).type;
    if (from.elements() != to.elements() || to.shape.empty() || to.shape.back() != keys) return false;
    if (node.op == "Softmax") {
      const std::int64_t axis = graph::intAttribute(node, "axis", -1);
      const auto rank = static_cast<std::int64_t>(to.shape.size());
      if (attention.softmax || (axis != -1 && axis != rank - 1)) return false;
      attention.softmax = true;
      attention.inner = from.element;
      return true;
    }
    const std::size_t inputs = attention.others.size(), functions = attention.functions.size();
    for (const TensorId input : node.inputs) {
      if (!input.valid() || input == scores) continue;
      if (isTrained(input)) return false;
      attention.others.push_back(input);
    }
    for (std::size_t i = 1; i < node.outputs.size(); ++i) {
      if (node.outputs[i].valid() &&
          (readers_.contains(node.outputs[i]) || results_.contains(node.outputs[i])))
        return false;
    }
    const auto work = ops::workOf(graph_, node, registry_);
    const bool fuses = work.ok() && std::ranges::all_of(*work, [&](const ops::Work& each) {
                         if (const auto* map = std::get_if<ops::Map>(&each.item)) {
                           if (map->elements != to.elements() || each.repeat != 1) return false;
                           attention.functions.push_back(static_cast<std::int64_t>(map->function));
                           return true;
                         }
                         const bool random = std::holds_alternative<ops::Random>(each.item);
                         attention.draws = attention.draws || random;
                         return random;
                       });
    if (fuses && !attention.causal && !attention.softmax && masks_.hidesLater(node, scores, keys)) {
      attention.causal = true;
      attention.maskInputs = {inputs, attention.others.size()};
      attention.maskFunctions = {functions, attention.functions.size()};
    }
    return fuses;
  }

  const Graph& graph_;
  std::int64_t leastKeys_;
  const ops::OperatorRegistry& registry_;
  CausalMasks masks_;
  std::map<TensorId, std::vector<NodeId>> readers_;
  std::set<TensorId> trained_, results_;
};

}  // namespace

std::map<NodeId, FoundAttention> findAttention(const Graph& forward, std::int64_t leastKeys,
                                               const ops::OperatorRegistry& registry) {
  return AttentionFinder(forward, leastKeys, registry).find();
}

}  // namespace pipescope::compile
