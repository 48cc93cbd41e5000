#include "engine/compile/attention/fused_attention.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/compile/attention/causal_work.h"
#include "engine/compile/attention_finder.h"
#include "engine/compile/graph_rewriter.h"
#include "engine/ops/ranks/ranks.h"

namespace pipescope::compile {
namespace {

using base::Result;
using base::Status;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

template <class T>
void erase(std::vector<T>& list, const ListRange& range) {
  const auto at = [&](std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  list.erase(at(range.first), at(range.end));
}

class AttentionFuser : public GraphRewriter {
 public:
  AttentionFuser(const Graph& source, const ops::OperatorRegistry& registry,
                 std::map<NodeId, FoundAttention> found, const AttentionFusion& fusion)
      : GraphRewriter(source, registry), found_(std::move(found)), fusion_(fusion) {
    std::map<TensorId, std::size_t> left;  // readers of gathered keys and values that are no ring
    for (const Node& node : source.nodes())
      for (const TensorId input : node.inputs)
        if (input.valid()) ++left[input];
    for (const TensorId output : source.outputs) ++left[output];
    for (const auto& [last, attention] : found_) {
      inside_.insert(attention.nodes.begin(), std::prev(attention.nodes.end()));
      if (!isRing(attention)) continue;
      for (const TensorId exchanged : exchangedBy(attention))
        if (--left[exchanged] == 0) inside_.insert(gatherOf(exchanged)->id);
    }
  }

 protected:
  Status copyNode(const Node& node) override {
    if (inside_.contains(node.id)) return {};
    const auto found = found_.find(node.id);
    if (found == found_.end()) return GraphRewriter::copyNode(node);
    const FoundAttention& attention = found->second;
    const Node& scores = source_.node(attention.nodes.front());
    const auto [keys, values] = exchangedBy(attention);
    const Node *keysGather = gatherOf(keys), *valuesGather = gatherOf(values);
    const bool ring = isRing(attention);
    if (fusion_.ring && !ring && (keysGather != nullptr || valuesGather != nullptr))
      return base::badInput(fmt::format(
          "Ranks gather only one of the factors of {}, so that no ring is possible: choose gather "
          "or heads for execution.context_exchange.",
          scores.name));
    const bool skips = fusion_.skipsMasked && attention.causal;
    std::vector<TensorId> others = attention.others;
    std::vector<std::int64_t> functions = attention.functions;
    // Kernels of fused attention have a flag for a causal mask, which they make by themselves. (R: is_causal
    // of Habana's FusedSDPA and of FlashAttention.)
    if (skips) erase(functions, attention.maskFunctions);
    if (attention.causal) erase(others, attention.maskInputs);
    const CausalRanks ranks{.positions = source_.tensor(keys).type.shape.back(),
                            .ranks = keysGather == nullptr ? 1 : ops::ranksOf(*keysGather),
                            .paired = fusion_.paired};
    Node fused;
    fused.op = "FusedAttention";
    fused.name = scores.name.substr(0, scores.name.rfind('/') + 1) + "fused_attention";
    fused.block = node.block;
    fused.pass = node.pass;
    fused.inputs = {of(scores.inputs[0]), of(ring ? keysGather->inputs[0] : keys),
                    of(ring ? valuesGather->inputs[0] : values)};
    for (const TensorId other : others) {
      const graph::TensorType& type = source_.tensor(other).type;
      // Whole numbers are the shapes that scores take for their mask.
      const bool byKey = !type.shape.empty() && type.shape.back() == ranks.positions &&
                         type.element != graph::ElementType::int64;
      if (ring && byKey)
        return base::badInput(
            fmt::format("{} reads {} for each key, which does not go around the ranks of "
                        "execution.context_exchange = ring: choose gather or heads.",
                        scores.name, source_.tensor(other).name));
      fused.inputs.push_back(of(other));
    }
    fused.attributes = {{"functions", functions},
                        {"inner", static_cast<std::int64_t>(attention.inner)},
                        {"draws", std::int64_t{attention.draws ? 1 : 0}}};
    if (attention.causal) fused.attributes["causal"] = std::int64_t{1};
    if (fusion_.factors) fused.attributes["factors"] = static_cast<std::int64_t>(*fusion_.factors);
    if (ring) {
      fused.attributes[ops::kRanks] = ranks.ranks;
      fused.attributes[ops::kMeshAxis] = model::toString(ops::meshAxisOf(*keysGather));
    }
    if (ring || skips) fused.attributes["keys_seen"] = keysSeen(ranks, ring, skips);
    const std::string name = fused.name;
    PIPESCOPE_ASSIGN(const std::vector<TensorId> outputs,
                     ops::appendNode(result_, std::move(fused),
                                     {source_.tensor(node.outputs[0]).name, name + "/statistics"},
                                     graph::TensorRole::activation, registry_));
    became(node.outputs[0], outputs[0]);
    return {};
  }

 private:
  /// Keys and values.
  std::array<TensorId, 2> exchangedBy(const FoundAttention& attention) const {
    return {source_.node(attention.nodes.front()).inputs[1], source_.node(attention.nodes.back()).inputs[1]};
  }

  /// True if keys and values go around the ranks.
  bool isRing(const FoundAttention& attention) const {
    const auto [keys, values] = exchangedBy(attention);
    return fusion_.ring && gatherOf(keys) != nullptr && gatherOf(values) != nullptr;
  }

  /// The node by which ranks along `context` gather a tensor; null: another one makes it.
  const Node* gatherOf(TensorId tensor) const {
    const NodeId maker = source_.tensor(tensor).producer;
    if (!maker.valid()) return nullptr;
    const Node& node = source_.node(maker);
    return node.op == "RankGather" && ops::meshAxisOf(node) == model::MeshAxis::context ? &node : nullptr;
  }

  /// Keys that a query computes with on average, on the rank with the most, in each step of a ring or all.
  static std::vector<std::int64_t> keysSeen(const CausalRanks& ranks, bool ring, bool skips) {
    const std::int64_t queries = ranks.positions / ranks.ranks;
    if (!skips) return std::vector<std::int64_t>(static_cast<std::size_t>(ranks.ranks), queries);
    std::vector<std::int64_t> seen =
        ring ? causalPairsOfRing(ranks) : std::vector<std::int64_t>{mostCausalPairs(ranks)};
    for (std::int64_t& pairs : seen) pairs = (pairs + queries - 1) / queries;
    return seen;
  }

  std::map<NodeId, FoundAttention> found_;
  const AttentionFusion& fusion_;
  std::set<NodeId> inside_;
};

}  // namespace

Result<std::optional<Graph>> fuseAttention(const Graph& forward, const AttentionFusion& fusion,
                                           const ops::OperatorRegistry& registry) {
  std::map<NodeId, FoundAttention> found = findAttention(forward, fusion.leastKeys, registry);
  if (found.empty()) return std::optional<Graph>();
  PIPESCOPE_ASSIGN(Graph fused, AttentionFuser(forward, registry, std::move(found), fusion).run());
  return std::optional<Graph>(std::move(fused));
}

}  // namespace pipescope::compile
