#include "engine/compile/loss_scaling.h"

#include <span>

namespace pipescope::compile {

base::Result<ScaledLoss> scaleLoss(const graph::Graph& forward, double scale,
                                   const ops::OperatorRegistry& registry) {
  if (!forward.loss) return base::badInput("the model has no loss to scale; add one such as cross_entropy");
  ScaledLoss scaled{forward, {}};
  graph::Graph& graph = scaled.graph;
  const graph::NodeId maker = graph.tensor(*graph.loss).producer;
  const auto value = static_cast<float>(scale);
  const auto bytes = std::as_bytes(std::span(&value, 1));
  const graph::TensorId factor =
      graph.addConstant(kLossScaleTensor, {graph::ElementType::float32, {}}, {bytes.begin(), bytes.end()});
  graph::Node node;
  node.op = "Mul";
  node.name = "loss_scaling";
  node.block = graph.node(maker).block;
  node.inputs = {*graph.loss, factor};
  PIPESCOPE_ASSIGN(
      const std::vector<graph::TensorId> outputs,
      ops::appendNode(graph, std::move(node), {"loss_scaling/out"}, graph::TensorRole::activation, registry));
  scaled.root = outputs[0];
  return scaled;
}

}  // namespace pipescope::compile
