#include "engine/compile/passes/graph_edit.h"

#include <algorithm>

#include "engine/compile/loss_scaling.h"

namespace pipescope::compile {

using graph::Graph;
using graph::Node;
using graph::Tensor;
using graph::TensorId;

namespace {

class Editor {
 public:
  Editor(const Graph& source, const GraphEdit& edit)
      : source_(source), edit_(edit), map_(source.tensors().size()) {
    findRead();
  }

  Graph run() {
    for (const Tensor& tensor : source_.tensors()) copy(tensor);
    for (const Node& node : source_.nodes()) {
      if (edit_.dropped.contains(node.id)) continue;
      Node kept = node;
      for (TensorId& input : kept.inputs) input = of(input);
      for (TensorId& output : kept.outputs) output = of(output);
      result_.addNode(std::move(kept));
    }
    for (const TensorId id : source_.inputs) result_.inputs.push_back(of(id));
    for (const TensorId id : source_.outputs) result_.outputs.push_back(of(id));
    if (source_.loss) result_.loss = of(*source_.loss);
    for (const auto& [parameter, gradient] : source_.parameterGradients)
      result_.parameterGradients[of(parameter)] = of(gradient);
    for (graph::StateUpdate update : source_.stateUpdates) {
      update.parameter = of(update.parameter);
      update.result = of(update.result);
      result_.stateUpdates.push_back(update);
    }
    return std::move(result_);
  }

 private:
  TensorId of(TensorId old) const {
    if (!old.valid()) return old;
    const auto replaced = edit_.replaced.find(old);
    const TensorId copy = map_[replaced == edit_.replaced.end() ? old : replaced->second];
    PIPESCOPE_CHECK(copy.valid(), "an edited graph keeps what it reads");
    return copy;
  }

  void findRead() {
    read_ = resultsOf(source_);
    for (const Node& node : source_.nodes()) {
      if (edit_.dropped.contains(node.id)) continue;
      for (const TensorId input : node.inputs) {
        const auto replaced = edit_.replaced.find(input);
        if (input.valid()) read_[replaced == edit_.replaced.end() ? input : replaced->second] = true;
      }
    }
  }

  void copy(const Tensor& tensor) {
    if (edit_.replaced.contains(tensor.id)) return;
    const auto known = edit_.constants.find(tensor.id);
    const bool dropped = tensor.producer.valid() && edit_.dropped.contains(tensor.producer);
    const bool unread = !read_[tensor.id];
    if (known != edit_.constants.end()) {
      if (!unread) map_[tensor.id] = result_.addConstant(tensor.name, tensor.type, known->second);
    } else if (tensor.role == graph::TensorRole::parameter) {
      map_[tensor.id] = result_.addParameter(tensor.name, tensor.type, source_.initializer(tensor.id));
    } else if (tensor.role == graph::TensorRole::constant) {
      if (unread) return;
      const graph::Constant* value = source_.constant(tensor.id);
      map_[tensor.id] = value ? result_.shareConstant(tensor.name, tensor.type, *value)
                              : result_.addTensor(tensor.name, tensor.type, tensor.role);
    } else if (!dropped) {
      map_[tensor.id] = result_.addTensor(tensor.name, tensor.type, tensor.role);
    }
  }

  const Graph& source_;
  const GraphEdit& edit_;
  base::IdVector<TensorId, bool> read_;
  base::IdVector<TensorId, TensorId> map_;  ///< invalid: the tensor was left out
  Graph result_;
};

bool isHalf(graph::ElementType type) {
  return type == graph::ElementType::float16 || type == graph::ElementType::bfloat16;
}

}  // namespace

Graph applied(const Graph& source, const GraphEdit& edit) {
  return Editor(source, edit).run();
}

base::IdVector<TensorId, bool> resultsOf(const Graph& graph) {
  base::IdVector<TensorId, bool> results(graph.tensors().size());
  for (const TensorId output : graph.outputs) results[output] = true;
  if (graph.loss) results[*graph.loss] = true;
  for (const auto& [parameter, gradient] : graph.parameterGradients) results[gradient] = true;
  for (const graph::StateUpdate& update : graph.stateUpdates) results[update.result] = true;
  return results;
}

base::Result<bool> isDeterministic(const Graph& graph, const Node& node, const PassContext& context) {
  for (const auto& [name, value] : node.attributes) {
    if (std::holds_alternative<std::shared_ptr<const Graph>>(value)) return false;
  }
  if (context.stochasticRounding && std::ranges::any_of(node.outputs, [&](TensorId id) {
        return id.valid() && isHalf(graph.tensor(id).type.element);
      }))
    return false;
  PIPESCOPE_ASSIGN(const std::vector<ops::Work> work, ops::workOf(graph, node, context.registry));
  return std::ranges::none_of(
      work, [](const ops::Work& each) { return std::holds_alternative<ops::Random>(each.item); });
}

const std::vector<std::byte>* fixedValue(const Graph& graph, TensorId id) {
  return graph.tensor(id).name == kLossScaleTensor ? nullptr : graph.constantValue(id);
}

base::Status addRemoved(PassEffect& effect, const Graph& graph, const Node& node,
                        const PassContext& context) {
  IrOperator op;
  op.name = node.name;
  op.kind = node.op;
  PIPESCOPE_ASSIGN(op.work, ops::workOf(graph, node, context.registry));
  const auto stage = context.stageOf.find(node.block);
  effect.removed[stage == context.stageOf.end() ? 0 : stage->second].push_back(std::move(op));
  return {};
}

}  // namespace pipescope::compile
