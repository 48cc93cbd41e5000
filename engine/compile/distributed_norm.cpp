#include "engine/compile/distributed_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "engine/compile/graph_rewriter.h"

namespace pipescope::compile {
namespace {

using base::Result;
using base::Status;
using graph::Node;
using graph::TensorId;

class NormPass : public GraphRewriter {
 public:
  NormPass(const graph::Graph& source, std::int64_t replicas, const ops::OperatorRegistry& registry)
      : GraphRewriter(source, registry), replicas_(replicas) {}

 protected:
  Status copyNode(const Node& node) override {
    if (node.op != "BatchNormalization" || graph::intAttribute(node, "training_mode", 0) == 0)
      return GraphRewriter::copyNode(node);
    return replace(node);
  }

  Status finish() override {
    for (graph::StateUpdate& update : result_.stateUpdates) {
      const auto count = counts_.find(update.result);
      if (count == counts_.end() || update.scale == 1) continue;
      update.scale = count->second / (count->second - 1);
    }
    return {};
  }

 private:
  TensorId number(const Node& node, const std::string& name, double value) {
    const auto number = static_cast<float>(value);
    const auto bytes = std::as_bytes(std::span(&number, 1));
    return result_.addConstant(node.name + "/" + name, {graph::ElementType::float32, {}},
                               {bytes.begin(), bytes.end()});
  }
  /// running·keep of zeros, plus statistic·(1 − keep), as one number per channel.
  Status addRunning(const Node& node, std::size_t output, TensorId statistic, double count) {
    if (node.outputs.size() <= output || !node.outputs[output].valid()) return {};
    const std::string name = output == 1 ? "running_mean" : "running_variance";
    const double take = 1 - graph::floatAttribute(node, "momentum", 0.9);
    PIPESCOPE_ASSIGN(const TensorId part,
                     add(node, name, "Mul", {statistic, number(node, name + "_share", take)}, {}));
    became(node.outputs[output], part);
    if (output == 2) counts_[part] = count;
    return {};
  }

  Status replace(const Node& node) {
    const TensorId x = of(node.inputs[0]);
    const graph::Shape shape = result_.tensor(x).type.shape;
    if (shape.size() < 2) return GraphRewriter::copyNode(node);  // this says what is wrong with it
    PIPESCOPE_ASSIGN(const TensorId own, add(node, "own_moments", "BatchMoments", {x}, {}));
    PIPESCOPE_ASSIGN(const TensorId moments,
                     add(node, "moments", "ReplicaSum", {own}, {{"replicas", replicas_}}));
    Node shared = node;
    shared.op = "SharedBatchNormalization";
    shared.outputs.clear();
    shared.inputs = {x, of(node.inputs[1]), of(node.inputs[2]), moments};
    shared.attributes = {{"replicas", replicas_}, {"epsilon", graph::floatAttribute(node, "epsilon", 1e-5)}};
    const std::vector<std::string> names{node.name + "/shared", node.name + "/mean", node.name + "/variance"};
    PIPESCOPE_ASSIGN(
        const std::vector<TensorId> made,
        ops::appendNode(result_, std::move(shared), names, graph::TensorRole::activation, registry_));
    became(node.outputs[0], made[0]);
    const double count =
        static_cast<double>(graph::elementCount(shape) / shape[1]) * static_cast<double>(replicas_);
    PIPESCOPE_TRY(addRunning(node, 1, made[1], count));
    return addRunning(node, 2, made[2], count);
  }

  std::int64_t replicas_;
  std::map<TensorId, double> counts_;  ///< count of the numbers from which each running variance is computed
};

}  // namespace

Result<graph::Graph> distributeBatchNorm(const graph::Graph& forward, std::int64_t replicas,
                                         const ops::OperatorRegistry& registry) {
  if (replicas < 1)
    return base::badInput(fmt::format("a batch norm over {} replicas; give at least 1", replicas));
  if (replicas == 1) return forward;
  return NormPass(forward, replicas, registry).run();
}

}  // namespace pipescope::compile
