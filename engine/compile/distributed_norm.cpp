#include "engine/compile/distributed_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "engine/compile/graph_rewriter.h"

namespace pipescope::compile {
namespace {

using base::Result;
using base::Status;
using graph::Attributes;
using graph::Node;
using graph::TensorId;
using Ints = std::vector<std::int64_t>;

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
  Result<TensorId> sumOverGroup(const Node& node, const std::string& name, TensorId x, const Ints& axes) {
    PIPESCOPE_ASSIGN(const TensorId own, add(node, name + "_own", "ReduceSum", {x},
                                             {{"axes", axes}, {"keepdims", std::int64_t{1}}}));
    return add(node, name, "ReplicaSum", {own}, {{"replicas", replicas_}});
  }
  TensorId number(const Node& node, const std::string& name, double value) {
    const auto number = static_cast<float>(value);
    const auto bytes = std::as_bytes(std::span(&number, 1));
    return result_.addConstant(node.name + "/" + name, {graph::ElementType::float32, {}},
                               {bytes.begin(), bytes.end()});
  }
  /// Reshapes one number per channel so that it broadcasts over x.
  Result<TensorId> alongside(const Node& node, const std::string& name, TensorId vector, std::size_t rank) {
    Ints shape(rank, 1);
    shape[1] = -1;
    return add(node, name, "Reshape", {vector}, {{"shape", shape}});
  }
  /// running·keep of zeros, plus statistic·(1 − keep), as one number per channel.
  Status addRunning(const Node& node, std::size_t output, TensorId statistic, double count) {
    if (node.outputs.size() <= output || !node.outputs[output].valid()) return {};
    const std::string name = output == 1 ? "running_mean" : "running_variance";
    const double take = 1 - graph::floatAttribute(node, "momentum", 0.9);
    PIPESCOPE_ASSIGN(const TensorId part,
                     add(node, name + "_part", "Mul", {statistic, number(node, name + "_share", take)}, {}));
    PIPESCOPE_ASSIGN(const TensorId flat, add(node, name, "Reshape", {part}, {{"shape", Ints{-1}}}));
    became(node.outputs[output], flat);
    if (output == 2) counts_[flat] = count;
    return {};
  }

  Status replace(const Node& node) {
    const TensorId x = of(node.inputs[0]);
    const graph::Shape shape = result_.tensor(x).type.shape;
    if (result_.tensor(x).type.element != graph::ElementType::float32) {
      return base::badInput(
          fmt::format("BatchNormalization {} is in {}: over several replicas it needs float32", node.name,
                      graph::toString(result_.tensor(x).type.element)));
    }
    Ints axes;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (axis != 1) axes.push_back(static_cast<std::int64_t>(axis));
    }
    const double count =
        static_cast<double>(graph::elementCount(shape) / shape[1]) * static_cast<double>(replicas_);
    const TensorId part = number(node, "share", 1 / count);
    PIPESCOPE_ASSIGN(const TensorId sum, sumOverGroup(node, "sum", x, axes));
    PIPESCOPE_ASSIGN(const TensorId mean, add(node, "mean", "Mul", {sum, part}, {}));
    PIPESCOPE_ASSIGN(const TensorId centred, add(node, "centred", "Sub", {x, mean}, {}));
    PIPESCOPE_ASSIGN(const TensorId square, add(node, "square", "Mul", {centred, centred}, {}));
    PIPESCOPE_ASSIGN(const TensorId squares, sumOverGroup(node, "square_sum", square, axes));
    PIPESCOPE_ASSIGN(const TensorId variance, add(node, "variance", "Mul", {squares, part}, {}));
    const TensorId epsilon = number(node, "epsilon", graph::floatAttribute(node, "epsilon", 1e-5));
    PIPESCOPE_ASSIGN(const TensorId padded, add(node, "padded", "Add", {variance, epsilon}, {}));
    PIPESCOPE_ASSIGN(const TensorId root, add(node, "deviation", "Sqrt", {padded}, {}));
    PIPESCOPE_ASSIGN(const TensorId normal, add(node, "normal", "Div", {centred, root}, {}));
    PIPESCOPE_ASSIGN(const TensorId scale, alongside(node, "scale", of(node.inputs[1]), shape.size()));
    PIPESCOPE_ASSIGN(const TensorId bias, alongside(node, "bias", of(node.inputs[2]), shape.size()));
    PIPESCOPE_ASSIGN(const TensorId scaled, add(node, "scaled", "Mul", {normal, scale}, {}));
    PIPESCOPE_ASSIGN(const TensorId y, add(node, "shifted", "Add", {scaled, bias}, {}));
    became(node.outputs[0], y);
    PIPESCOPE_TRY(addRunning(node, 1, mean, count));
    return addRunning(node, 2, variance, count);
  }

  std::int64_t replicas_;
  std::map<TensorId, double> counts_;  ///< by running variance: how many numbers it is computed from
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
