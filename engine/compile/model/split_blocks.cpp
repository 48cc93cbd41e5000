#include "engine/compile/model/split_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/compile/graph_rewriter.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::compile {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

namespace {

/// Copies a graph with other blocks.
class BlockRewriter : public GraphRewriter {
 public:
  BlockRewriter(const Graph& source, const std::vector<std::string>& blocks)
      : GraphRewriter(source, ops::standardOperators()), blocks_(blocks) {}

 private:
  base::Status copyNode(const Node& node) override {
    Node copy = node;
    copy.block = blocks_[static_cast<std::size_t>(node.id.value)];
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs) inputs.push_back(of(input));
    return appendCopy(std::move(copy), std::move(inputs));
  }

  const std::vector<std::string>& blocks_;
};

/// The stage of each node of a graph.
std::vector<int> stagesOfNodes(const Graph& graph, const std::map<std::string, int>& stageOf, int last) {
  std::vector<int> stages, least(graph.nodes().size(), last);
  for (const Node& node : graph.nodes()) {
    const auto found = stageOf.find(node.name);
    stages.push_back(found == stageOf.end() ? -1 : found->second);
  }
  const auto producer = [&](TensorId id) { return id.valid() ? graph.tensor(id).producer : NodeId(); };
  for (std::size_t i = stages.size(); i-- > 0;) {
    const int own = stages[i] < 0 ? least[i] : stages[i];
    for (const TensorId input : graph.nodes()[i].inputs) {
      if (!producer(input).valid()) continue;
      int& most = least[static_cast<std::size_t>(producer(input).value)];
      most = std::min(most, own);
    }
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    int before = -1;
    for (const TensorId input : graph.nodes()[i].inputs) {
      if (producer(input).valid())
        before = std::max(before, stages[static_cast<std::size_t>(producer(input).value)]);
    }
    if (stages[i] < 0 && before < 0) stages[i] = least[i];
    stages[i] = std::max(stages[i], before);
  }
  return stages;
}

}  // namespace

base::Result<ModelRequest> inStages(const ModelRequest& request, const std::map<std::string, int>& stageOf) {
  std::vector<std::vector<int>> stages;
  std::map<std::string, std::set<int>> spans;  // by block
  for (const ExecutableRequest& executable : request.executables) {
    stages.push_back(stagesOfNodes(*executable.forward, stageOf, request.layout.splitInto - 1));
    for (const Node& node : executable.forward->nodes())
      spans[node.block].insert(stages.back()[static_cast<std::size_t>(node.id.value)]);
  }
  ModelRequest changed = request;
  changed.layout.stages.resize(static_cast<std::size_t>(request.layout.splitInto));
  for (std::size_t e = 0; e < stages.size(); ++e) {
    std::vector<std::string> blocks;
    for (const Node& node : request.executables[e].forward->nodes()) {
      const int stage = stages[e][static_cast<std::size_t>(node.id.value)];
      const bool whole = spans.at(node.block).size() == 1;
      blocks.push_back(whole ? node.block : fmt::format("{}/stage{}", node.block, stage));
      std::vector<std::string>& own = changed.layout.stages[static_cast<std::size_t>(stage)].blocks;
      if (std::ranges::find(own, blocks.back()) == own.end()) own.push_back(blocks.back());
    }
    PIPESCOPE_ASSIGN(Graph graph, BlockRewriter(*request.executables[e].forward, blocks).run());
    changed.executables[e].forward = std::make_shared<const Graph>(std::move(graph));
  }
  return changed;
}

}  // namespace pipescope::compile
