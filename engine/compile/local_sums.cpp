#include "engine/compile/local_sums.h"

#include <algorithm>
#include <functional>
#include <set>

namespace pipescope::compile {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Tensor;
using graph::TensorId;

class LocalSummation {
 public:
  LocalSummation(const Graph& source, const std::vector<StageSpec>& stages)
      : source_(source), stages_(stages), stageOf_(stageOfBlocks(stages)) {}

  std::optional<LocalSums> run() {
    std::vector<const Node*> spread;
    for (const Node& node : source_.nodes()) {
      if (isSpread(node)) spread.push_back(&node);
    }
    if (spread.empty()) return std::nullopt;
    copyTensors();
    for (const Node* node : spread) splitSum(*node);
    for (const Node& node : source_.nodes()) {
      if (!removed_.contains(node.id)) result_.graph.addNode(node);
      for (Node& sum : after_[node.id]) result_.graph.addNode(std::move(sum));
    }
    return std::move(result_);
  }

 private:
  void copyTensors() {
    for (const Tensor& tensor : source_.tensors()) {
      if (tensor.role == graph::TensorRole::parameter) {
        result_.graph.addParameter(tensor.name, tensor.type, source_.initializer(tensor.id));
      } else if (const graph::Constant* value = source_.constant(tensor.id)) {
        result_.graph.shareConstant(tensor.name, tensor.type, *value);
      } else {
        result_.graph.addTensor(tensor.name, tensor.type, tensor.role);
      }
    }
    result_.graph.inputs = source_.inputs;
    result_.graph.outputs = source_.outputs;
    result_.graph.loss = source_.loss;
    result_.graph.parameterGradients = source_.parameterGradients;
    result_.graph.stateUpdates = source_.stateUpdates;
  }

  const Node& producerOf(TensorId id) const { return source_.node(source_.tensor(id).producer); }
  int stageOf(const Node& node) const { return stageOf_.at(node.block); }
  int placeOf(int stage) const { return stages_[static_cast<std::size_t>(stage)].place; }

  /// True for a sum of gradients that nodes of several stages made.
  bool isSpread(const Node& node) const {
    return node.pass == model::Pass::backward && node.op == "Sum" &&
           std::ranges::any_of(node.inputs, [&](TensorId input) {
             return source_.tensor(input).producer.valid() && stageOf(producerOf(input)) != stageOf(node);
           });
  }

  /// Replaces the sum by one sum for each stage that contributes, from the last stage to the first.
  void splitSum(const Node& sum) {
    const auto owner = std::ranges::find_if(
        source_.parameterGradients, [&](const auto& entry) { return entry.second == sum.outputs.front(); });
    const bool parameter = owner != source_.parameterGradients.end();
    std::map<int, std::vector<TensorId>, std::greater<>> byStage;
    for (const TensorId input : sum.inputs) byStage[stageOf(producerOf(input))].push_back(input);
    removed_.insert(sum.id);
    TensorId carried;    // the sum of the later stages
    NodeId carriedFrom;  // the node behind which it exists
    for (auto& [stage, operands] : byStage) {
      const bool first = stage == byStage.rbegin()->first;
      Node node = sum;
      if (stage != stageOf(sum)) node.block = producerOf(operands.back()).block;
      for (const TensorId operand : operands)
        carriedFrom = std::max(carriedFrom, source_.tensor(operand).producer);
      if (carried.valid() && !parameter) operands.insert(operands.begin(), carried);
      carried = operands.front();
      if (operands.size() > 1) {
        if (!first) node.name += "/stage" + std::to_string(stage);
        if (!first || parameter) node.outputs = {addGradient(node.name, sum.outputs.front())};
        node.inputs = operands;
        carried = node.outputs.front();
        after_[carriedFrom].push_back(std::move(node));
      }
      if (parameter) result_.partial.push_back({owner->first, carried, false, placeOf(stage)});
    }
    // The stages of a place come from the last to the first, which updates.
    std::set<int> updated;
    for (auto part = result_.partial.rbegin(); part != result_.partial.rend() && parameter; ++part) {
      if (part->parameter != owner->first) break;
      part->updates = updated.insert(part->place).second;
    }
    if (parameter) result_.graph.parameterGradients.erase(owner->first);
  }

  TensorId addGradient(const std::string& name, TensorId like) {
    return result_.graph.addTensor(name, source_.tensor(like).type, graph::TensorRole::gradient);
  }

  const Graph& source_;
  const std::vector<StageSpec>& stages_;
  std::map<std::string, int> stageOf_;
  std::set<NodeId> removed_;
  std::map<NodeId, std::vector<Node>> after_;  ///< sums that follow a node of the source
  LocalSums result_;
};

}  // namespace

std::optional<LocalSums> withLocalSums(const Graph& graph, const std::vector<StageSpec>& stages) {
  return LocalSummation(graph, stages).run();
}

}  // namespace pipescope::compile
