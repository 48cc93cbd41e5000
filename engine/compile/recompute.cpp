#include "engine/compile/recompute.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

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
  Recompute(const Graph& source, const std::vector<StageSpec>& stages, const std::vector<bool>& stashes)
      : source_(source), stashes_(stashes), stageOf_(stageOfBlocks(stages)) {}

  base::Status findCheckpoints(const Checkpoints& patterns) {
    for (const std::string& pattern : patterns) {
      bool any = false;
      for (const Node& node : source_.nodes()) {
        if (node.pass != Pass::forward || !namesBlock(pattern, node.name)) continue;
        checkpoints_.insert(node.id);
        any = true;
      }
      if (!any) {
        return base::badInput(
            fmt::format("execution.checkpoints names \"{}\", but no operator of the model is called so: "
                        "`pipescope report` lists "
                        "them in section operations.",
                        pattern));
      }
    }
    return {};
  }

  base::Result<Graph> build() {
    // Existing tensors keep their ids; recomputed ones come after them.
    for (const Tensor& tensor : source_.tensors()) copyTensor(tensor);
    std::vector<bool> done(stashes_.size());
    for (const Node& node : source_.nodes()) {
      const auto stage = static_cast<std::size_t>(stageOf_.at(node.block));
      if (node.pass == Pass::backward && !done[stage]) {
        done[stage] = true;
        addAgain(static_cast<int>(stage));
      }
      Node copy = node;
      if (node.pass == Pass::backward) redirect(copy, static_cast<int>(stage));
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
    } else if (const std::vector<std::byte>* value = source_.constantValue(tensor.id)) {
      result_.addConstant(tensor.name, tensor.type, *value);
    } else {
      result_.addTensor(tensor.name, tensor.type, tensor.role);
    }
  }

  bool isOf(const Node& node, int stage, Pass pass) const {
    return node.pass == pass && stageOf_.at(node.block) == stage;
  }

  /// The nodes of a stage that run again, in program order.
  std::vector<const Node*> again(int stage) const {
    std::set<TensorId> wanted;
    NodeId lastCheckpoint;
    for (const Node& node : source_.nodes()) {
      if (isOf(node, stage, Pass::backward)) wanted.insert(node.inputs.begin(), node.inputs.end());
      if (isOf(node, stage, Pass::forward) && checkpoints_.contains(node.id)) lastCheckpoint = node.id;
    }
    std::vector<const Node*> found;
    for (auto node = source_.nodes().rbegin(); node != source_.nodes().rend(); ++node) {
      if (!isOf(*node, stage, Pass::forward) || checkpoints_.contains(node->id)) continue;
      if (!stashes_[static_cast<std::size_t>(stage)] && node->id >= lastCheckpoint) continue;
      const bool useful = std::any_of(node->outputs.begin(), node->outputs.end(),
                                      [&](TensorId id) { return id.valid() && wanted.contains(id); });
      if (!useful) continue;
      found.push_back(&*node);
      wanted.insert(node->inputs.begin(), node->inputs.end());
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  void addAgain(int stage) {
    for (const Node* node : again(stage)) {
      Node copy = *node;
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
  }

  void redirect(Node& node, int stage) const {
    for (TensorId& input : node.inputs) {
      if (const auto found = remade_.find({stage, input}); found != remade_.end()) input = found->second;
    }
  }

  const Graph& source_;
  const std::vector<bool>& stashes_;
  std::map<std::string, int> stageOf_;
  std::set<NodeId> checkpoints_;
  std::map<std::pair<int, TensorId>, TensorId> remade_;
  Graph result_;
};

}  // namespace

base::Result<Graph> withRecompute(const Graph& graph, const std::vector<StageSpec>& stages,
                                  const std::vector<bool>& stashes, const Checkpoints& checkpoints) {
  PIPESCOPE_CHECK(stashes.size() == stages.size(), "whether each stage stashes");
  Recompute recompute(graph, stages, stashes);
  PIPESCOPE_TRY(recompute.findCheckpoints(checkpoints));
  return recompute.build();
}

}  // namespace pipescope::compile
