#include "engine/builders/model_writer.h"

#include <span>

namespace pipescope::builders {
namespace {

template <class T>
std::vector<std::byte> bytesOf(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

constexpr auto kFloat = graph::ElementType::float32;

}  // namespace

TensorId ModelWriter::input(const std::string& name, graph::TensorType type) {
  const TensorId id = graph_.addTensor(name, std::move(type), graph::TensorRole::input);
  graph_.inputs.push_back(id);
  return id;
}

TensorId ModelWriter::parameter(const std::string& name, Shape shape, graph::Initializer initializer) {
  const std::string path = pathOf(name);
  if (suffix_.empty()) return graph_.addParameter(path, {kFloat, std::move(shape)}, std::move(initializer));
  const auto [found, isNew] = shared_.try_emplace(path);
  if (isNew) found->second = graph_.addParameter(path, {kFloat, std::move(shape)}, std::move(initializer));
  return found->second;
}

TensorId ModelWriter::constant(const std::string& name, graph::TensorType type,
                               std::vector<std::byte> bytes) {
  return graph_.addConstant(nameOf(name), std::move(type), std::move(bytes));
}

TensorId ModelWriter::laterConstant(const std::string& name, graph::TensorType type,
                                    std::function<std::vector<std::byte>()> make,
                                    graph::Constant::Pattern pattern) {
  return graph_.shareConstant(nameOf(name), std::move(type), graph::Constant(std::move(make), pattern));
}

TensorId ModelWriter::floats(const std::string& name, Shape shape, const std::vector<float>& values) {
  return constant(name, {kFloat, std::move(shape)}, bytesOf(values));
}

TensorId ModelWriter::integers(const std::string& name, const std::vector<std::int64_t>& values) {
  return constant(name, {graph::ElementType::int64, {static_cast<std::int64_t>(values.size())}},
                  bytesOf(values));
}

std::vector<TensorId> ModelWriter::nodes(const std::string& op, const std::string& name,
                                         std::vector<TensorId> inputs, graph::Attributes attributes,
                                         std::size_t outputs) {
  std::vector<TensorId> none(outputs);
  if (!status_.ok()) return none;
  graph::Node node;
  node.op = op;
  node.name = nameOf(name);
  node.block = block_;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  std::vector<std::string> names{node.name + "/out"};
  while (names.size() < outputs) names.push_back(node.name + "/out" + std::to_string(names.size()));
  auto made =
      ops::appendNode(graph_, std::move(node), names, graph::TensorRole::activation, context_.registry);
  if (made.ok()) return *made;
  status_ = made.error();
  return none;
}

TensorId ModelWriter::node(const std::string& op, const std::string& name, std::vector<TensorId> inputs,
                           graph::Attributes attributes) {
  return nodes(op, name, std::move(inputs), std::move(attributes), 1)[0];
}

TensorId ModelWriter::reshape(const std::string& name, TensorId x, const Shape& shape) {
  if (!status_.ok() || shapeOf(x) == shape) return x;
  return node("Reshape", name, {x, integers(name + "/shape", shape)});
}

TensorId ModelWriter::transpose(const std::string& name, TensorId x, const std::vector<std::int64_t>& order) {
  return node("Transpose", name, {x}, {{"perm", order}});
}

TensorId ModelWriter::linear(const std::string& name, TensorId x, const Linear& layer) {
  std::vector<TensorId> inputs{
      x, parameter(name + "/weight", {layer.outputs, shapeOf(x).back()}, layer.initializer)};
  if (layer.bias) {
    const graph::Initializer bias =
        layer.uniformBias > 0 ? graph::Initializer{graph::Initializer::Kind::uniform, layer.uniformBias, {}}
                              : graph::Initializer{};
    inputs.push_back(parameter(name + "/bias", {layer.outputs}, bias));
  }
  return node("Gemm", name, std::move(inputs), {{"transB", std::int64_t{1}}});
}

TensorId ModelWriter::layerNorm(const std::string& name, TensorId x, double epsilon) {
  const std::int64_t width = shapeOf(x).back();
  const TensorId scale = parameter(name + "/weight", {width}, {graph::Initializer::Kind::ones, 0, {}});
  const TensorId bias = parameter(name + "/bias", {width}, {});
  return node("LayerNormalization", name, {x, scale, bias},
              {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}});
}

TensorId ModelWriter::rmsNorm(const std::string& name, TensorId x, double epsilon) {
  const std::int64_t width = shapeOf(x).back();
  const TensorId weight = parameter(name + "/weight", {width}, {graph::Initializer::Kind::ones, 0, {}});
  const Scope scope(*this, name);
  const TensorId square = node("Mul", "square", {x, x});
  const TensorId mean = node("ReduceMean", "mean", {square},
                             {{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", std::int64_t{1}}});
  const TensorId root =
      node("Sqrt", "root", {node("Add", "epsilon", {mean, scalar("epsilon/value", epsilon)})});
  return node("Mul", "scale", {node("Div", "normalise", {x, root}), weight});
}

TensorId ModelWriter::activation(const std::string& name, TensorId x, const std::string& kind) {
  if (kind == "relu") return node("Relu", name, {x});
  if (kind == "tanh") return node("Tanh", name, {x});
  if (kind == "silu") return node("Mul", name, {x, node("Sigmoid", name + "/gate", {x})});
  return node("Gelu", name, {x});
}

TensorId ModelWriter::dropout(const std::string& name, TensorId x, double ratio) {
  if (!training() || ratio == 0) return x;
  const TensorId on = constant(name + "/training", {graph::ElementType::boolean, {}}, {std::byte{1}});
  return node("Dropout", name, {x, scalar(name + "/ratio", ratio), on});
}

void ModelWriter::crossEntropy(TensorId scores, const Shape& labels, TensorId more) {
  const TensorId given = input("labels", {graph::ElementType::int32, labels});
  TensorId loss =
      node("SoftmaxCrossEntropyLoss", "loss", {scores, given}, {{"reduction", std::string("mean")}});
  if (more.valid()) loss = node("Add", "loss/total", {loss, more});
  if (loss.valid()) graph_.loss = loss;
}

Shape ModelWriter::shapeOf(TensorId id) const {
  return id.valid() ? graph_.tensor(id).type.shape : Shape{1};
}

void ModelWriter::fail(std::string sentence) {
  if (status_.ok()) status_ = base::badInput(std::move(sentence));
}

base::Result<graph::Graph> ModelWriter::finish() {
  if (!status_.ok()) return status_.error();
  return std::move(graph_);
}

}  // namespace pipescope::builders
