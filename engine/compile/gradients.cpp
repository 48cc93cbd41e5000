#include "engine/compile/gradients.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <span>

#include "engine/ops/core/gradient_builder.h"

namespace pipescope::compile {
namespace {

using base::badInput;
using base::Result;
using base::Status;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

/// Differentiates one graph in reverse mode.
class Differentiator {
 public:
  Differentiator(graph::Graph forward, const ops::OperatorRegistry& registry, TensorId root)
      : graph_(std::move(forward)), registry_(registry), root_(root), forwardNodes_(graph_.nodes().size()) {
    findTrainable();
  }

  Result<graph::Graph> run() {
    for (std::size_t i = forwardNodes_; i-- > 0;) PIPESCOPE_TRY(visit(NodeId(static_cast<std::int64_t>(i))));
    return std::move(graph_);
  }

 private:
  class Builder;

  void findTrainable() {
    trainable_.assign(graph_.tensors().size(), false);
    for (const graph::Tensor& tensor : graph_.tensors()) {
      if (tensor.role == graph::TensorRole::parameter) mark(tensor.id);
    }
    for (const Node& node : graph_.nodes()) {
      bool any = false;
      for (const TensorId input : node.inputs) {
        any = any || trainable(input);
        firstConsumer_.try_emplace(input, node.id);
      }
      if (!any) continue;
      for (const TensorId output : node.outputs) mark(output);
    }
  }
  /// Truth values and indices carry no gradient, as in PyTorch. Quantised tensors (of 8 bits) count as
  /// trainable, so that training through them is refused and does not silently leave weights as they are.
  void mark(TensorId id) {
    if (!id.valid()) return;
    const graph::ElementType element = graph_.tensor(id).type.element;
    trainable_[id] = element != graph::ElementType::boolean && element != graph::ElementType::int32 &&
                     element != graph::ElementType::int64;
  }
  bool trainable(TensorId id) const { return id.valid() && trainable_[id]; }

  /// The gradient of the loss with respect to itself, which is 1. It is made when a node first needs it.
  TensorId one();
  Status visit(NodeId id);
  Status differentiate(NodeId id);
  Status collect(TensorId tensor, const std::string& block);
  Status collectParameters(const Node& node);

  graph::Graph graph_;
  const ops::OperatorRegistry& registry_;
  TensorId root_;
  std::size_t forwardNodes_;
  base::IdVector<TensorId, bool> trainable_;
  std::map<TensorId, NodeId> firstConsumer_;
  std::map<TensorId, std::vector<TensorId>> contributions_;  ///< one for each consumer that was visited
  std::map<TensorId, TensorId> gradients_;                   ///< the sum of the contributions
};

class Differentiator::Builder : public ops::GradientBuilder {
 public:
  Builder(Differentiator& owner, Node node)
      : owner_(owner), node_(std::move(node)), types_(), call_(makeCall()) {}

  const ops::OperatorCall& call() const override { return call_; }
  TensorId outputGradient(std::size_t output) override {
    const auto found = owner_.gradients_.find(node_.outputs.at(output));
    if (found != owner_.gradients_.end()) return found->second;
    return isLoss(output) ? owner_.one() : TensorId();
  }
  bool isLoss(std::size_t output) const override { return owner_.root_ == node_.outputs.at(output); }
  bool wants(std::size_t input) const override {
    return input < node_.inputs.size() && owner_.trainable(node_.inputs[input]);
  }
  Result<TensorId> add(const std::string& op, const std::string& suffix, std::vector<TensorId> inputs,
                       graph::Attributes attributes) override {
    PIPESCOPE_ASSIGN(const std::vector<TensorId> outputs,
                     addMany(op, suffix, std::move(inputs), std::move(attributes), 1));
    return outputs[0];
  }
  Result<std::vector<TensorId>> addMany(const std::string& op, const std::string& suffix,
                                        std::vector<TensorId> inputs, graph::Attributes attributes,
                                        std::size_t outputs) override {
    Node node;
    node.op = op;
    node.name = node_.name + "/" + suffix;
    node.block = node_.block;
    node.pass = model::Pass::backward;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    std::vector<std::string> names{node.name};
    while (names.size() < outputs) names.push_back(node.name + "_" + std::to_string(names.size()));
    return ops::appendNode(owner_.graph_, std::move(node), names, graph::TensorRole::gradient,
                           owner_.registry_);
  }
  void setInputGradient(std::size_t input, TensorId gradient) override {
    PIPESCOPE_CHECK(owner_.graph_.tensor(gradient).type == call_.input(input),
                    node_.name + " gave a gradient of another shape");
    owner_.contributions_[node_.inputs.at(input)].push_back(gradient);
  }

 private:
  /// This copies the types, because adding nodes moves the graph's tensors.
  ops::OperatorCall makeCall() {
    ops::OperatorCall seen = ops::callOf(owner_.graph_, node_);
    types_.reserve(seen.inputs.size());
    for (const graph::TensorType*& type : seen.inputs) {
      if (type) type = &types_.emplace_back(*type);
    }
    return seen;
  }
  Differentiator& owner_;
  Node node_;
  std::vector<graph::TensorType> types_;
  ops::OperatorCall call_;
};

/// The bytes of the number 1 in the type of the loss. Empty for types that a loss cannot have.
std::vector<std::byte> bitsOfOne(graph::ElementType type) {
  const auto bytesOf = [](auto value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  switch (type) {
    case graph::ElementType::float32:
      return bytesOf(1.0F);
    case graph::ElementType::float64:
      return bytesOf(1.0);
    case graph::ElementType::float16:
      return bytesOf(std::uint16_t{0x3C00});
    case graph::ElementType::bfloat16:
      return bytesOf(std::uint16_t{0x3F80});
    default:
      return {};
  }
}

TensorId Differentiator::one() {
  const graph::Tensor& loss = graph_.tensor(root_);
  TensorId& gradient = gradients_[loss.id];
  gradient = graph_.addConstant(loss.name + "/grad", loss.type, bitsOfOne(loss.type.element));
  return gradient;
}

/// Adds up the gradients that the consumers of a tensor contributed.
Status Differentiator::collect(TensorId tensor, const std::string& block) {
  const auto found = contributions_.find(tensor);
  if (found == contributions_.end()) return {};
  TensorId gradient = found->second.front();
  if (found->second.size() > 1) {
    Node sum;
    sum.op = "Sum";
    sum.name = graph_.tensor(tensor).name + "/grad_sum";
    sum.block = block;
    sum.pass = model::Pass::backward;
    sum.inputs = found->second;
    const std::string name = sum.name;
    PIPESCOPE_ASSIGN(const std::vector<TensorId> outputs,
                     ops::appendNode(graph_, std::move(sum), {name}, graph::TensorRole::gradient, registry_));
    gradient = outputs[0];
  }
  gradients_[tensor] = gradient;
  return {};
}

Status Differentiator::collectParameters(const Node& node) {
  for (const TensorId input : node.inputs) {
    if (!input.valid() || graph_.tensor(input).role != graph::TensorRole::parameter) continue;
    if (firstConsumer_.at(input) != node.id || gradients_.contains(input)) continue;
    PIPESCOPE_TRY(collect(input, node.block));
    const auto found = gradients_.find(input);
    if (found != gradients_.end()) graph_.parameterGradients[input] = found->second;
  }
  return {};
}

Status Differentiator::differentiate(NodeId id) {
  const ops::OperatorDefinition* definition = registry_.find(graph_.node(id).op);
  if (!definition || !definition->gradient) {
    return badInput(fmt::format("cannot train through node {}: operator {} has no gradient",
                                graph_.node(id).name, graph_.node(id).op));
  }
  Builder builder(*this, graph_.node(id));
  return definition->gradient(builder);
}

Status Differentiator::visit(NodeId id) {
  const Node node = graph_.node(id);
  bool reached = false, wanted = false;
  for (const TensorId output : node.outputs) {
    if (!output.valid()) continue;
    PIPESCOPE_TRY(collect(output, node.block));
    reached = reached || output == root_ || gradients_.contains(output);
  }
  for (const TensorId input : node.inputs) wanted = wanted || trainable(input);
  if (reached && wanted) PIPESCOPE_TRY(differentiate(id));
  return collectParameters(node);
}

}  // namespace

Result<graph::Graph> addGradients(graph::Graph forward, const ops::OperatorRegistry& registry,
                                  std::optional<TensorId> root) {
  if (!forward.loss)
    return badInput(
        "the model has no loss, so it cannot be trained; add a loss layer such as cross_entropy at its end");
  const graph::Tensor& loss = forward.tensor(root.value_or(*forward.loss));
  if (bitsOfOne(loss.type.element).empty() || loss.type.elements() != 1) {
    return badInput(fmt::format("the loss {} is {}; it must be one floating-point number", loss.name,
                                graph::toString(loss.type)));
  }
  const TensorId differentiated = loss.id;
  return Differentiator(std::move(forward), registry, differentiated).run();
}

}  // namespace pipescope::compile
