// Computes nodes with the same operator, attributes and inputs only once. Such nodes must belong to the same
// stage and pass: keeping a value from the forward to the backward pass, or sending it to another device,
// costs more than computing it twice.
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/compile/passes/graph_edit.h"

namespace pipescope::compile {
namespace {

using graph::Node;
using graph::TensorId;

void put(std::string& key, std::int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}
void put(std::string& key, std::string_view text) {
  put(key, static_cast<std::int64_t>(text.size()));
  key += text;
}
void put(std::string& key, double number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}
void put(std::string& key, const graph::TensorType& type) {
  put(key, static_cast<std::int64_t>(type.element));
  put(key, static_cast<std::int64_t>(type.shape.size()));
  for (const std::int64_t extent : type.shape) put(key, extent);
}
void put(std::string& key, const std::vector<std::byte>& bytes) {
  put(key, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}
void put(std::string& key, const std::shared_ptr<const graph::TensorValue>& value) {
  put(key, value->type);
  put(key, value->bytes);
}
/// Nodes that contain graphs are not compared.
void put(std::string& key, const std::shared_ptr<const graph::Graph>& held) {
  put(key, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(held.get())));
}
template <class T>
void put(std::string& key, const std::vector<T>& list) {
  put(key, static_cast<std::int64_t>(list.size()));
  for (const T& each : list) put(key, each);
}

class Numbering {
 public:
  Numbering(const graph::Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), results_(resultsOf(graph)) {}

  base::Status run() {
    for (const Node& node : graph_.nodes()) PIPESCOPE_TRY(visit(node));
    return {};
  }
  const GraphEdit& edit() const { return edit_; }
  PassEffect& effect() { return effect_; }

 private:
  /// Values with equal numbers are equal.
  std::int64_t numberOf(TensorId id) {
    if (!id.valid()) return -1;
    const auto replaced = edit_.replaced.find(id);
    if (replaced != edit_.replaced.end()) id = replaced->second;
    const std::vector<std::byte>* value = fixedValue(graph_, id);
    constexpr std::size_t kLargestCompared = 4096;
    if (!value || value->size() > kLargestCompared) return id.value;
    std::string key;
    put(key, graph_.tensor(id).type);
    put(key, *value);
    return constants_.try_emplace(std::move(key), id.value).first->second;
  }

  /// The text by which equal nodes are found, which holds until the next call.
  const std::string& keyOf(const Node& node) {
    std::string& key = key_;
    key.clear();
    put(key, std::string_view(node.op));
    put(key, static_cast<std::int64_t>(node.pass));
    const auto stage = context_.stageOf.find(node.block);
    put(key, stage == context_.stageOf.end() ? std::int64_t{0} : std::int64_t{stage->second});
    for (const auto& [name, value] : node.attributes) {
      put(key, std::string_view(name));
      put(key, static_cast<std::int64_t>(value.index()));
      std::visit([&](const auto& held) { put(key, held); }, value);
    }
    put(key, static_cast<std::int64_t>(node.inputs.size()));
    for (const TensorId input : node.inputs) put(key, numberOf(input));
    put(key, static_cast<std::int64_t>(node.outputs.size()));
    for (const TensorId output : node.outputs) put(key, std::int64_t{output.valid()});
    return key;
  }

  /// The first node that does the same; none: it is this one. Keys are long and few nodes are equal, so that
  /// only their hashes are kept, and a key is made again where two hashes are equal.
  std::optional<graph::NodeId> firstLike(const Node& node) {
    const std::size_t hash = std::hash<std::string>()(keyOf(node));
    const auto [begin, end] = first_.equal_range(hash);
    if (begin != end) {
      const std::string own = key_;
      for (auto known = begin; known != end; ++known)
        if (keyOf(graph_.node(known->second)) == own) return known->second;
    }
    first_.emplace(hash, node.id);
    return {};
  }

  base::Status visit(const Node& node) {
    const std::optional<graph::NodeId> first = firstLike(node);
    if (!first) return {};
    // Few nodes have an equal one, so this is asked last.
    PIPESCOPE_ASSIGN(const bool deterministic, isDeterministic(graph_, node, context_));
    if (!deterministic) return {};
    for (const TensorId output : node.outputs) {
      if (output.valid() && results_[output]) return {};
    }
    const Node& equal = graph_.node(*first);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      edit_.replaced[node.outputs[i]] = equal.outputs[i];
      effect_.bytes += graph_.tensor(node.outputs[i]).type.bytes();
    }
    edit_.dropped.insert(node.id);
    ++effect_.changes;
    return addRemoved(effect_, graph_, node, context_);
  }

  const graph::Graph& graph_;
  const PassContext& context_;
  base::IdVector<TensorId, bool> results_;
  std::unordered_map<std::string, std::int64_t> constants_;
  std::unordered_multimap<std::size_t, graph::NodeId> first_;  ///< keyed by the hash of keyOf()
  std::string key_;
  GraphEdit edit_;
  PassEffect effect_;
};

base::Result<PassEffect> commonSubexpressions(graph::Graph& graph, const PassContext& context) {
  Numbering numbering(graph, context);
  PIPESCOPE_TRY(numbering.run());
  PassEffect effect = std::move(numbering.effect());
  effect.counts = "nodes that repeated another";
  if (effect.changes > 0) graph = applied(graph, numbering.edit());
  return effect;
}

}  // namespace

PIPESCOPE_REGISTER_PASS(common_subexpressions) {
  registry.add({"common_subexpressions",
                "Nodes of one stage and pass that do the same with the same inputs are computed once.", 20,
                commonSubexpressions});
}

}  // namespace pipescope::compile
