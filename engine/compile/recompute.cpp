#include "engine/compile/recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/compile/attention_finder.h"
#include "engine/compile/block_pattern.h"
#include "engine/ops/core/recomputation.h"

namespace pipescope::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Tensor;
using graph::TensorId;
using model::Pass;

class Recompute {
 public:
  Recompute(const Graph& source, const std::vector<StageSpec>& stages, const std::vector<bool>& whole)
      : source_(source), whole_(whole), stageOf_(stageOfBlocks(stages)) {}

  base::Status findCheckpoints(const Checkpoints& patterns) {
    PIPESCOPE_ASSIGN(const std::set<std::string> names,
                     nodesNamed(source_, patterns, "execution.checkpoints"));
    for (const Node& node : source_.nodes())
      if (node.pass == Pass::forward && names.contains(node.name)) checkpoints_.insert(node.id);
    return {};
  }

  /// Keeps what all other nodes make.
  void repeatOnly(const std::set<std::string>& names) {
    for (const Node& node : source_.nodes())
      if (node.pass == Pass::forward && !names.contains(node.name)) checkpoints_.insert(node.id);
  }

  base::Result<Graph> build() {
    // Existing tensors keep their ids; recomputed ones come after them.
    for (const Tensor& tensor : source_.tensors()) copyTensor(tensor);
    for (std::size_t stage = 0; stage < whole_.size(); ++stage)
      repeated_.push_back(repeatedNodes(static_cast<int>(stage)));
    for (const Node& node : source_.nodes()) {
      const int stage = stageOf_.at(node.block);
      Node copy = node;
      if (node.pass == Pass::backward) {
        addRequired(node, stage);
        redirect(copy, stage);
      }
      result_.addNode(std::move(copy));
    }
    result_.inputs = source_.inputs;
    result_.outputs = source_.outputs;
    result_.loss = source_.loss;
    result_.parameterGradients = source_.parameterGradients;
    result_.stateUpdates = source_.stateUpdates;
    return std::move(result_);
  }

 private:
  void copyTensor(const Tensor& tensor) {
    if (tensor.role == graph::TensorRole::parameter) {
      result_.addParameter(tensor.name, tensor.type, source_.initializer(tensor.id));
    } else if (const graph::Constant* value = source_.constant(tensor.id)) {
      result_.shareConstant(tensor.name, tensor.type, *value);
    } else {
      result_.addTensor(tensor.name, tensor.type, tensor.role);
    }
  }

  bool isOf(const Node& node, int stage, Pass pass) const {
    return node.pass == pass && stageOf_.at(node.block) == stage;
  }

  /// The nodes of a stage that run again.
  std::set<NodeId> repeatedNodes(int stage) const {
    std::set<TensorId> wanted;
    NodeId lastCheckpoint;
    for (const Node& node : source_.nodes()) {
      if (isOf(node, stage, Pass::backward)) wanted.insert(node.inputs.begin(), node.inputs.end());
      if (isOf(node, stage, Pass::forward) && checkpoints_.contains(node.id)) lastCheckpoint = node.id;
    }
    std::set<NodeId> found;
    for (auto node = source_.nodes().rbegin(); node != source_.nodes().rend(); ++node) {
      if (!isOf(*node, stage, Pass::forward) || checkpoints_.contains(node->id)) continue;
      if (!whole_[static_cast<std::size_t>(stage)] && node->id >= lastCheckpoint) continue;
      const bool useful = std::any_of(node->outputs.begin(), node->outputs.end(),
                                      [&](TensorId id) { return id.valid() && wanted.contains(id); });
      if (!useful) continue;
      found.insert(node->id);
      wanted.insert(node->inputs.begin(), node->inputs.end());
    }
    return found;
  }

  /// Adds what must be recomputed before the backward node can run, in program order. Each node runs again
  /// only once.
  void addRequired(const Node& backward, int stage) {
    std::set<NodeId>& waiting = repeated_[static_cast<std::size_t>(stage)];
    std::set<NodeId> required;
    std::vector<const Node*> readers{&backward};
    while (!readers.empty()) {
      const Node& reader = *readers.back();
      readers.pop_back();
      for (const TensorId input : reader.inputs) {
        const NodeId producer = input.valid() ? source_.tensor(input).producer : NodeId();
        if (!producer.valid() || waiting.erase(producer) == 0) continue;
        required.insert(producer);
        readers.push_back(&source_.node(producer));
      }
    }
    for (const NodeId id : required) addAgain(source_.node(id), stage);
  }

  void addAgain(const Node& node, int stage) {
    Node copy = node;
    copy.name += ops::kRecomputeSuffix;
    copy.pass = Pass::recompute;
    redirect(copy, stage);
    for (TensorId& output : copy.outputs) {
      if (!output.valid()) continue;
      const Tensor& tensor = source_.tensor(output);
      const TensorId made = result_.addTensor(tensor.name + "/recomputed", tensor.type, tensor.role);
      remade_[{stage, output}] = made;
      output = made;
    }
    result_.addNode(std::move(copy));
  }

  void redirect(Node& node, int stage) const {
    for (TensorId& input : node.inputs) {
      if (const auto found = remade_.find({stage, input}); found != remade_.end()) input = found->second;
    }
  }

  const Graph& source_;
  const std::vector<bool>& whole_;
  std::map<std::string, int> stageOf_;
  std::set<NodeId> checkpoints_;
  std::vector<std::set<NodeId>> repeated_;  ///< nodes of each stage that have still to run again
  std::map<std::pair<int, TensorId>, TensorId> remade_;
  Graph result_;
};

}  // namespace

base::Result<Graph> withRecompute(const Graph& graph, const std::vector<StageSpec>& stages,
                                  const std::vector<bool>& whole, const Checkpoints& checkpoints) {
  PIPESCOPE_CHECK(whole.size() == stages.size(), "whether each stage recomputes as a whole");
  Recompute recompute(graph, stages, whole);
  PIPESCOPE_TRY(recompute.findCheckpoints(checkpoints));
  return recompute.build();
}

base::Result<Graph> withRecomputeOf(const Graph& graph, const std::vector<StageSpec>& stages,
                                    const std::set<std::string>& names) {
  const std::vector<bool> whole(stages.size(), true);
  Recompute recompute(graph, stages, whole);
  recompute.repeatOnly(names);
  return recompute.build();
}

base::Result<std::set<std::string>> nodesNamed(const Graph& graph, const std::vector<std::string>& patterns,
                                               const std::string& key) {
  std::set<std::string> names;
  for (const std::string& pattern : patterns) {
    bool any = false;
    for (const Node& node : graph.nodes()) {
      if (node.pass != Pass::forward || !namesBlock(pattern, node.name)) continue;
      names.insert(node.name);
      any = true;
    }
    if (any) continue;
    return base::badInput(
        fmt::format("{} names \"{}\", but no operator of the model is called so: `pipescope report` lists "
                    "them in section operations.",
                    key, pattern));
  }
  return names;
}

base::Result<std::set<std::string>> attentionScores(const Graph& forward,
                                                    const ops::OperatorRegistry& registry) {
  std::set<std::string> names;
  for (const auto& [last, attention] : findAttention(forward, 1, registry)) {
    for (const NodeId id : attention.nodes)
      if (id != last) names.insert(forward.node(id).name);
  }
  const bool fused =
      std::ranges::any_of(forward.nodes(), [](const Node& node) { return node.op == "FusedAttention"; });
  if (!names.empty() || fused) return names;
  return base::badInput(
      "execution.recompute is selective, which computes the scores of attention again, but the model has no "
      "attention "
      "over a whole sequence: choose another value.");
}

}  // namespace pipescope::compile
