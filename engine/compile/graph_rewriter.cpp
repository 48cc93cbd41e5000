#include "engine/compile/graph_rewriter.h"

namespace pipescope::compile {

using base::Result;
using base::Status;
using graph::Node;
using graph::Tensor;
using graph::TensorId;

Result<TensorId> GraphRewriter::copyRoot(const Tensor& tensor) {
  if (tensor.role == graph::TensorRole::parameter)
    return result_.addParameter(tensor.name, tensor.type, source_.initializer(tensor.id));
  if (const graph::Constant* value = source_.constant(tensor.id))
    return result_.shareConstant(tensor.name, tensor.type, *value);
  return result_.addTensor(tensor.name, tensor.type, tensor.role);
}

Status GraphRewriter::appendCopy(Node node, std::vector<TensorId> inputs) {
  const std::vector<TensorId> old = node.outputs;
  node.inputs = std::move(inputs);
  PIPESCOPE_ASSIGN(const std::vector<graph::TensorType> types,
                   ops::inferOutputs(result_, node, old.size(), registry_));
  node.outputs.clear();
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (!old[i].valid()) {
      node.outputs.emplace_back();
      continue;
    }
    const Tensor& tensor = source_.tensor(old[i]);
    node.outputs.push_back(result_.addTensor(tensor.name, types[i], tensor.role));
    became(old[i], node.outputs.back());
  }
  result_.addNode(std::move(node));
  return {};
}

Status GraphRewriter::copyNode(const Node& node) {
  std::vector<TensorId> inputs;
  for (const TensorId input : node.inputs) inputs.push_back(of(input));
  return appendCopy(node, std::move(inputs));
}

Result<TensorId> GraphRewriter::add(const Node& of, const std::string& suffix, const std::string& op,
                                    std::vector<TensorId> inputs, graph::Attributes attributes) {
  Node node;
  node.op = op;
  node.name = of.name + "/" + suffix;
  node.block = of.block;
  node.pass = of.pass;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  const std::string output = node.name + "/out";
  PIPESCOPE_ASSIGN(
      const std::vector<TensorId> outputs,
      ops::appendNode(result_, std::move(node), {output}, graph::TensorRole::activation, registry_));
  return outputs[0];
}

Result<graph::Graph> GraphRewriter::run() {
  result_.reserve(source_.tensors().size(), source_.nodes().size());
  for (const Tensor& tensor : source_.tensors()) {
    if (tensor.producer.valid()) continue;
    PIPESCOPE_ASSIGN(const TensorId copy, copyRoot(tensor));
    became(tensor.id, copy);
  }
  for (const Node& node : source_.nodes()) PIPESCOPE_TRY(copyNode(node));
  for (const TensorId id : source_.inputs) result_.inputs.push_back(of(id));
  for (const TensorId id : source_.outputs) result_.outputs.push_back(of(id));
  if (source_.loss) result_.loss = of(*source_.loss);
  for (graph::StateUpdate update : source_.stateUpdates) {
    update.parameter = of(update.parameter);
    update.result = of(update.result);
    result_.stateUpdates.push_back(update);
  }
  for (const auto& [parameter, gradient] : source_.parameterGradients)
    result_.parameterGradients[of(parameter)] = of(gradient);
  PIPESCOPE_TRY(finish());
  result_.giveBackRoom();
  return std::move(result_);
}

}  // namespace pipescope::compile
