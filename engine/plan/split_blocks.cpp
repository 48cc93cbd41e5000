#include "engine/plan/split_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/compile/graph_rewriter.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::plan {

using namespace compile;

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

namespace {

using BlockOfNode = base::IdVector<NodeId, std::string>;
using StageOfNode = base::IdVector<NodeId, int>;

/// Copies a graph with other blocks.
class BlockRewriter : public GraphRewriter {
 public:
  BlockRewriter(const Graph& source, const BlockOfNode& blocks)
      : GraphRewriter(source, ops::standardOperators()), blocks_(blocks) {}

 private:
  base::Status copyNode(const Node& node) override {
    Node copy = node;
    copy.block = blocks_[node.id];
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs) inputs.push_back(of(input));
    return appendCopy(std::move(copy), std::move(inputs));
  }

  const BlockOfNode& blocks_;
};

/// The stage of each node of a graph.
StageOfNode stagesOfNodes(const Graph& graph, const std::map<std::string, int>& stageOf, int last) {
  StageOfNode stages, least(graph.nodes().size(), last);
  for (const Node& node : graph.nodes()) {
    const auto found = stageOf.find(node.name);
    stages.push_back(found == stageOf.end() ? -1 : found->second);
  }
  const auto producer = [&](TensorId id) { return id.valid() ? graph.tensor(id).producer : NodeId(); };
  for (std::size_t i = stages.size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    const int own = stages[node.id] < 0 ? least[node.id] : stages[node.id];
    for (const TensorId input : node.inputs) {
      if (const NodeId maker = producer(input); maker.valid()) least[maker] = std::min(least[maker], own);
    }
  }
  for (const Node& node : graph.nodes()) {
    int before = -1;
    for (const TensorId input : node.inputs) {
      if (const NodeId maker = producer(input); maker.valid()) before = std::max(before, stages[maker]);
    }
    int& stage = stages[node.id];
    if (stage < 0 && before < 0) stage = least[node.id];
    stage = std::max(stage, before);
  }
  return stages;
}

}  // namespace

base::Result<ModelRequest> inStages(const ModelRequest& request, const std::map<std::string, int>& stageOf) {
  std::vector<StageOfNode> stages;
  std::map<std::string, std::set<int>> spans;  // keyed by block
  for (const ExecutableRequest& executable : request.executables) {
    stages.push_back(stagesOfNodes(*executable.forward, stageOf, request.layout.splitInto - 1));
    for (const Node& node : executable.forward->nodes()) spans[node.block].insert(stages.back()[node.id]);
  }
  ModelRequest changed = request;
  changed.layout.stages.resize(static_cast<std::size_t>(request.layout.splitInto));
  for (std::size_t e = 0; e < stages.size(); ++e) {
    BlockOfNode blocks;
    for (const Node& node : request.executables[e].forward->nodes()) {
      const int stage = stages[e][node.id];
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

ModelRequest estimateOf(const ModelRequest& request, std::size_t stages) {
  ModelRequest estimate = request;
  estimate.executables.resize(1);
  ExecutableRequest& executable = estimate.executables.front();
  executable.microBatchCosts.clear();
  const auto step = static_cast<std::int64_t>(2 * stages);
  if (executable.microBatches >= 2 * step) executable.microBatches = step + executable.microBatches % step;
  return estimate;
}

ModelRequest oneStage(const ModelRequest& request, std::size_t stages) {
  ModelRequest one = estimateOf(request, stages);
  one.executables.front().replicas = {};
  one.layout = {};
  one.layout.whole = true;
  one.recompute = {RecomputeRequest::Mode::never, {}};
  one.update.normReplicas = 1;
  one.locations = {};
  one.scales = {};
  return one;
}

}  // namespace pipescope::plan
