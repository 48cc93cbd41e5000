#include "engine/onnx/instantiate.h"

namespace pipescope::onnx {

using graph::Graph;
using graph::TensorId;

namespace {

std::vector<bool> neededNodes(const Graph& graph) {
  base::IdVector<TensorId, bool> tensors(graph.tensors().size());
  std::vector<bool> nodes(graph.nodes().size(), false);
  const auto need = [&](TensorId id) {
    if (id.valid()) tensors[id] = true;
  };
  for (const TensorId id : graph.outputs) need(id);
  if (graph.loss) need(*graph.loss);
  for (const graph::StateUpdate& update : graph.stateUpdates) need(update.result);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const graph::Node& node = graph.nodes()[i];
    for (const TensorId output : node.outputs) nodes[i] = nodes[i] || (output.valid() && tensors[output]);
    if (!nodes[i]) continue;
    for (const TensorId input : node.inputs) need(input);
  }
  return nodes;
}

/// Copies tensors when they are needed for the first time.
class Copier {
 public:
  explicit Copier(const Graph& from) : from_(from), ids_(from.tensors().size()) {}

  TensorId operator()(TensorId id) {
    if (!id.valid()) return id;
    TensorId& known = ids_[id];
    if (known.valid()) return known;
    const graph::Tensor& tensor = from_.tensor(id);
    if (tensor.role == graph::TensorRole::parameter) {
      known = to.addParameter(tensor.name, tensor.type, from_.initializer(id));
    } else if (const graph::Constant* value = from_.constant(id)) {
      known = to.shareConstant(tensor.name, tensor.type, *value);
    } else {
      known = to.addTensor(tensor.name, tensor.type, tensor.role);
    }
    return known;
  }

  Graph to;

 private:
  const Graph& from_;
  base::IdVector<TensorId, TensorId> ids_;
};

}  // namespace

Graph copyOf(const Graph& graph, const std::vector<bool>& keep, const std::vector<std::string>* blocks) {
  Copier copy(graph);
  for (const TensorId input : graph.inputs) copy.to.inputs.push_back(copy(input));
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    graph::Node node = graph.nodes()[i];
    if (blocks) node.block = (*blocks)[i];
    for (TensorId& input : node.inputs) input = copy(input);
    for (TensorId& output : node.outputs) output = copy(output);
    copy.to.addNode(std::move(node));
  }
  for (const TensorId output : graph.outputs) copy.to.outputs.push_back(copy(output));
  if (graph.loss) copy.to.loss = copy(*graph.loss);
  for (graph::StateUpdate update : graph.stateUpdates) {
    update.parameter = copy(update.parameter);
    update.result = copy(update.result);
    copy.to.stateUpdates.push_back(update);
  }
  return std::move(copy.to);
}

Graph withoutDeadNodes(const Graph& graph) {
  return copyOf(graph, neededNodes(graph), nullptr);
}

}  // namespace pipescope::onnx
