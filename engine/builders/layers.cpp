#include "engine/builders/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/builders/layer_types.h"
#include "engine/config/suggestion.h"

namespace pipescope::builders {
namespace {

using base::badInput;
using base::Result;
using base::Status;

constexpr std::int64_t kMostParameter = 1'000'000'000;

Result<const LayerType*> typeOf(const LayerSpec& layer) {
  for (const LayerType& type : allLayerTypes()) {
    if (type.name == layer.type) return &type;
  }
  return badInput(fmt::format("layer {}: type {} is not known{}", layer.name, layer.type,
                              config::suggestion(layer.type, layerTypes())));
}

/// The parameters of the layer with a value for every key of its type.
Result<std::map<std::string, std::int64_t>> checkedParameters(const LayerSpec& layer, const LayerType& type) {
  std::vector<std::string> known;
  for (const LayerKey& key : type.keys) known.push_back(key.name);
  for (const auto& [name, value] : layer.parameters) {
    if (std::ranges::find(known, name) == known.end()) {
      return badInput(fmt::format("layer {}: {} has no key {}{}", layer.name, type.name, name,
                                  config::suggestion(name, known)));
    }
  }
  std::map<std::string, std::int64_t> values;
  for (const LayerKey& key : type.keys) {
    const auto given = layer.parameters.find(key.name);
    if (given == layer.parameters.end() && key.required) {
      return badInput(fmt::format("layer {}: {} needs the key {}", layer.name, type.name, key.name));
    }
    const std::int64_t value = given == layer.parameters.end() ? 0 : given->second;
    if (value < key.least || value > kMostParameter) {
      return badInput(fmt::format("layer {}: {} is {}; it must be {} to {}", layer.name, key.name, value,
                                  key.least, kMostParameter));
    }
    values[key.name] = value;
  }
  return values;
}

Status checkLayerOrder(const std::vector<LayerSpec>& layers) {
  std::set<std::string> names;
  for (const LayerSpec& layer : layers) {
    if (layer.name.empty())
      return badInput(fmt::format("a layer of type {} has no name; give each layer its own", layer.type));
    if (!names.insert(layer.name).second) {
      return badInput(fmt::format("two layers are called {}; give each its own name", layer.name));
    }
    if (&layer != &layers.back() && layer.type == "cross_entropy") {
      return badInput(fmt::format("layer {}: a loss must be the last layer, but {} follows", layer.name,
                                  (&layer + 1)->name));
    }
  }
  return {};
}

Status checkModel(const LayersModel& model) {
  if (model.layers.empty()) return badInput("the model has no layers; give at least one");
  if (model.microBatch < 1)
    return badInput(fmt::format("the micro-batch size is {}; it must be at least 1", model.microBatch));
  for (const std::int64_t extent : model.sample) {
    if (extent < 1)
      return badInput(fmt::format("the shape of a sample holds {}; every extent must be at least 1", extent));
  }
  return checkLayerOrder(model.layers);
}

}  // namespace

std::vector<std::string> layerTypes() {
  std::vector<std::string> names;
  for (const LayerType& type : allLayerTypes()) names.push_back(type.name);
  return names;
}

Result<graph::Graph> buildLayers(const LayersModel& model, const ops::OperatorRegistry& registry) {
  PIPESCOPE_TRY(checkModel(model));
  graph::Graph graph;
  graph::Shape shape = model.sample;
  shape.insert(shape.begin(), model.microBatch);
  graph::TensorId current = graph.addTensor("samples", {model.element, shape}, graph::TensorRole::input);
  graph.inputs = {current};
  std::string maker = "the data set";
  for (const LayerSpec& layer : model.layers) {
    PIPESCOPE_ASSIGN(const LayerType* type, typeOf(layer));
    PIPESCOPE_ASSIGN(const auto parameters, checkedParameters(layer, *type));
    LayerContext context{.layer = layer,
                         .parameters = parameters,
                         .model = model,
                         .registry = registry,
                         .graph = graph,
                         .current = current,
                         .currentLayer = maker};
    PIPESCOPE_TRY(type->build(context));
    current = context.current;
    maker = layer.name;
  }
  if (!graph.loss) graph.outputs = {current};
  PIPESCOPE_TRY(ops::checkShapes(graph, registry));
  return graph;
}

}  // namespace pipescope::builders
