#include "engine/graph/graph.h"

#include <mutex>
#include <utility>

#include "profiler/base/check.h"

namespace pipescope::graph {

TensorId Graph::addTensor(std::string name, TensorType type, TensorRole role) {
  const TensorId id(static_cast<std::int64_t>(tensors_.size()));
  tensors_.push_back({id, std::move(name), std::move(type), role, NodeId()});
  return id;
}

TensorId Graph::addParameter(std::string name, TensorType type, Initializer initializer) {
  const TensorId id = addTensor(std::move(name), std::move(type), TensorRole::parameter);
  initializers_[id] = initializer;
  return id;
}

TensorId Graph::addConstant(std::string name, TensorType type, std::vector<std::byte> value) {
  PIPESCOPE_CHECK(static_cast<std::int64_t>(value.size()) == type.bytes().count, name);
  return shareConstant(std::move(name), std::move(type), Constant(std::move(value)));
}

TensorId Graph::shareConstant(std::string name, TensorType type, Constant value) {
  const TensorId id = addTensor(std::move(name), std::move(type), TensorRole::constant);
  constants_.emplace(id, std::move(value));
  return id;
}

NodeId Graph::addNode(Node node) {
  node.id = NodeId(static_cast<std::int64_t>(nodes_.size()));
  for (const TensorId input : node.inputs) {
    PIPESCOPE_CHECK(!input.valid() || input.value < static_cast<std::int64_t>(tensors_.size()), node.name);
  }
  for (const TensorId output : node.outputs) {
    if (!output.valid()) continue;
    PIPESCOPE_CHECK(output.value < static_cast<std::int64_t>(tensors_.size()), node.name);
    tensors_[output].producer = node.id;
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().id;
}

void Graph::reserve(std::size_t tensors, std::size_t nodes) {
  tensors_.reserve(tensors);
  nodes_.reserve(nodes);
}

void Graph::giveBackRoom() {
  tensors_.shrink_to_fit();
  nodes_.shrink_to_fit();
}

const Tensor& Graph::tensor(TensorId id) const {
  PIPESCOPE_CHECK(id.valid() && id.value < static_cast<std::int64_t>(tensors_.size()), "no such tensor");
  return tensors_[id];
}

const Node& Graph::node(NodeId id) const {
  PIPESCOPE_CHECK(id.valid() && id.value < static_cast<std::int64_t>(nodes_.size()), "no such node");
  return nodes_[id];
}

const Initializer& Graph::initializer(TensorId parameter) const {
  const auto found = initializers_.find(parameter);
  PIPESCOPE_CHECK(found != initializers_.end(), tensor(parameter).name + " has no initializer");
  return found->second;
}

const Constant* Graph::constant(TensorId id) const {
  const auto found = constants_.find(id);
  return found == constants_.end() ? nullptr : &found->second;
}

const std::vector<std::byte>* Graph::constantValue(TensorId id) const {
  const Constant* value = constant(id);
  return value == nullptr ? nullptr : value->known();
}

struct Constant::State {
  std::function<std::vector<std::byte>()> make;  ///< empty: the bytes are known
  Pattern pattern = Pattern::none;
  std::once_flag once;
  std::vector<std::byte> bytes;
};

Constant::Constant(std::vector<std::byte> bytes) : state_(std::make_shared<State>()) {
  state_->bytes = std::move(bytes);
}

Constant::Constant(std::function<std::vector<std::byte>()> make, Pattern pattern)
    : state_(std::make_shared<State>()) {
  state_->make = std::move(make);
  state_->pattern = pattern;
}

Constant::Pattern Constant::pattern() const {
  return state_->pattern;
}

const std::vector<std::byte>* Constant::known() const {
  return state_->make ? nullptr : &state_->bytes;
}

const std::vector<std::byte>& Constant::bytes() const {
  if (state_->make) std::call_once(state_->once, [this] { state_->bytes = state_->make(); });
  return state_->bytes;
}

namespace {
template <class T>
T attributeOr(const Node& node, const std::string& name, T fallback) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return fallback;
  const T* value = std::get_if<T>(&found->second);
  return value ? *value : fallback;
}
}  // namespace

std::int64_t intAttribute(const Node& node, const std::string& name, std::int64_t fallback) {
  return attributeOr(node, name, fallback);
}
double floatAttribute(const Node& node, const std::string& name, double fallback) {
  return attributeOr(node, name, fallback);
}
std::string stringAttribute(const Node& node, const std::string& name, const std::string& fallback) {
  return attributeOr(node, name, fallback);
}
std::vector<std::int64_t> intsAttribute(const Node& node, const std::string& name,
                                        std::vector<std::int64_t> fallback) {
  return attributeOr(node, name, std::move(fallback));
}
std::vector<double> floatsAttribute(const Node& node, const std::string& name, std::vector<double> fallback) {
  return attributeOr(node, name, std::move(fallback));
}
std::vector<std::string> stringsAttribute(const Node& node, const std::string& name,
                                          std::vector<std::string> fallback) {
  return attributeOr(node, name, std::move(fallback));
}
const TensorValue* tensorAttribute(const Node& node, const std::string& name) {
  return attributeOr(node, name, std::shared_ptr<const TensorValue>()).get();
}

}  // namespace pipescope::graph
