#include "engine/builders/layer_types.h"

#include <fmt/format.h>

#include <cmath>

namespace pipescope::builders {
namespace {

using base::badInput;
using base::Status;
using graph::Shape;
using graph::TensorId;

const graph::TensorType& currentType(const LayerContext& context) {
  return context.graph.tensor(context.current).type;
}

/// Shape of one sample before this layer, "10x12x12".
std::string incoming(const LayerContext& context) {
  const graph::TensorType& type = currentType(context);
  std::string text;
  for (std::size_t axis = 1; axis < type.shape.size(); ++axis)
    text += (axis > 1 ? "x" : "") + std::to_string(type.shape[axis]);
  return text;
}

std::int64_t valueOr(const LayerContext& context, const std::string& key, std::int64_t fallback) {
  const std::int64_t value = context.parameters.at(key);
  return value == 0 ? fallback : value;
}

Status append(LayerContext& context, const std::string& op, std::vector<TensorId> inputs,
              graph::Attributes attributes) {
  graph::Node node;
  node.op = op;
  node.name = context.layer.name;
  node.block = context.layer.block;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  PIPESCOPE_ASSIGN(const std::vector<TensorId> outputs,
                   ops::appendNode(context.graph, std::move(node), {context.layer.name + "/out"},
                                   graph::TensorRole::activation, context.registry));
  context.current = outputs[0];
  return {};
}

/// Adds weight and bias of a layer whose results are sums of `fanIn` products.
std::pair<TensorId, TensorId> addWeights(LayerContext& context, Shape weight, std::int64_t fanIn) {
  const graph::Initializer initializer{graph::Initializer::Kind::uniform,
                                       1 / std::sqrt(static_cast<double>(fanIn))};
  const Shape bias{weight[0]};
  const TensorId w = context.graph.addParameter(context.layer.name + "/weight",
                                                {context.model.element, std::move(weight)}, initializer);
  const TensorId b =
      context.graph.addParameter(context.layer.name + "/bias", {context.model.element, bias}, initializer);
  return {w, b};
}

Status requireImages(const LayerContext& context) {
  if (currentType(context).shape.size() == 4) return {};
  return badInput(fmt::format("layer {}: {} needs samples of channels x height x width, but {} gives {}",
                              context.layer.name, context.layer.type, context.currentLayer,
                              incoming(context)));
}

graph::Attributes windowAttributes(std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  using Ints = std::vector<std::int64_t>;
  return {
      {"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}, {"pads", Ints(4, padding)}};
}

Status buildConv(LayerContext& context) {
  PIPESCOPE_TRY(requireImages(context));
  const std::int64_t given = currentType(context).shape[1], channels = valueOr(context, "in_channels", given);
  if (channels != given) {
    return badInput(
        fmt::format("layer {}: conv expects {} input channels, but {} gives {} ({}); set in_channels = {} or "
                    "leave it out",
                    context.layer.name, channels, context.currentLayer, given, incoming(context), given));
  }
  const std::int64_t kernel = context.parameters.at("kernel_size"),
                     filters = context.parameters.at("out_channels");
  const auto [weight, bias] =
      addWeights(context, {filters, channels, kernel, kernel}, channels * kernel * kernel);
  return append(context, "Conv", {context.current, weight, bias},
                windowAttributes(kernel, valueOr(context, "stride", 1), context.parameters.at("padding")));
}

Status buildMaxPool(LayerContext& context) {
  PIPESCOPE_TRY(requireImages(context));
  const std::int64_t kernel = context.parameters.at("kernel_size");
  return append(
      context, "MaxPool", {context.current},
      windowAttributes(kernel, valueOr(context, "stride", kernel), context.parameters.at("padding")));
}

Status buildRelu(LayerContext& context) {
  return append(context, "Relu", {context.current}, {});
}

Status buildFlatten(LayerContext& context) {
  return append(context, "Flatten", {context.current}, {{"axis", std::int64_t{1}}});
}

Status buildLinear(LayerContext& context) {
  if (currentType(context).shape.size() != 2) {
    return badInput(
        fmt::format("layer {}: linear needs flat samples, but {} gives {}; put a flatten layer before it",
                    context.layer.name, context.currentLayer, incoming(context)));
  }
  const std::int64_t given = currentType(context).shape[1], features = valueOr(context, "in_features", given);
  if (features != given) {
    return badInput(fmt::format(
        "layer {}: linear expects {} features, but {} gives {}; set in_features = {} or leave it out",
        context.layer.name, features, context.currentLayer, given, given));
  }
  const auto [weight, bias] =
      addWeights(context, {context.parameters.at("out_features"), features}, features);
  return append(context, "Gemm", {context.current, weight, bias}, {{"transB", std::int64_t{1}}});
}

Status buildCrossEntropy(LayerContext& context) {
  if (currentType(context).shape.size() < 2) {
    return badInput(fmt::format("layer {}: cross_entropy needs scores per class, but {} gives single numbers",
                                context.layer.name, context.currentLayer));
  }
  Shape labels = currentType(context).shape;
  labels.erase(labels.begin() + 1);
  context.graph.inputs.push_back(
      context.graph.addTensor("labels", {context.model.labels, labels}, graph::TensorRole::input));
  context.graph.outputs = {context.current};
  PIPESCOPE_TRY(append(context, "SoftmaxCrossEntropyLoss", {context.current, context.graph.inputs.back()},
                       {{"reduction", "mean"}}));
  context.graph.loss = context.current;
  return {};
}

}  // namespace

const std::vector<LayerType>& allLayerTypes() {
  static const std::vector<LayerType> types{
      {"conv",
       {{"in_channels"}, {"out_channels", true, 1}, {"kernel_size", true, 1}, {"stride"}, {"padding"}},
       buildConv},
      {"cross_entropy", {}, buildCrossEntropy},
      {"flatten", {}, buildFlatten},
      {"linear", {{"in_features"}, {"out_features", true, 1}}, buildLinear},
      {"maxpool", {{"kernel_size", true, 1}, {"stride"}, {"padding"}}, buildMaxPool},
      {"relu", {}, buildRelu},
  };
  return types;
}

}  // namespace pipescope::builders
