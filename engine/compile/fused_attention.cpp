#include "engine/compile/fused_attention.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/compile/attention_finder.h"
#include "engine/compile/graph_rewriter.h"

namespace pipescope::compile {
namespace {

using base::Result;
using base::Status;
using graph::Graph;
using graph::Node;
using graph::NodeId;

class AttentionFuser : public GraphRewriter {
 public:
  AttentionFuser(const Graph& source, const ops::OperatorRegistry& registry,
                 std::map<NodeId, FoundAttention> found, const AttentionFusion& fusion)
      : GraphRewriter(source, registry), found_(std::move(found)), fusion_(fusion) {
    for (const auto& [last, attention] : found_)
      inside_.insert(attention.nodes.begin(), std::prev(attention.nodes.end()));
  }

 protected:
  Status copyNode(const Node& node) override {
    if (inside_.contains(node.id)) return {};
    const auto found = found_.find(node.id);
    if (found == found_.end()) return GraphRewriter::copyNode(node);
    const FoundAttention& attention = found->second;
    const Node& scores = source_.node(attention.nodes.front());
    Node fused;
    fused.op = "FusedAttention";
    fused.name = scores.name.substr(0, scores.name.rfind('/') + 1) + "fused_attention";
    fused.block = node.block;
    fused.pass = node.pass;
    fused.inputs = {of(scores.inputs[0]), of(scores.inputs[1]), of(node.inputs[1])};
    for (const TensorId other : attention.others) fused.inputs.push_back(of(other));
    fused.attributes = {{"functions", attention.functions},
                        {"inner", static_cast<std::int64_t>(attention.inner)},
                        {"draws", std::int64_t{attention.draws ? 1 : 0}}};
    if (fusion_.factors) fused.attributes["factors"] = static_cast<std::int64_t>(*fusion_.factors);
    const std::string name = fused.name;
    PIPESCOPE_ASSIGN(const std::vector<TensorId> outputs,
                     ops::appendNode(result_, std::move(fused),
                                     {source_.tensor(node.outputs[0]).name, name + "/statistics"},
                                     graph::TensorRole::activation, registry_));
    became(node.outputs[0], outputs[0]);
    return {};
  }

 private:
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
