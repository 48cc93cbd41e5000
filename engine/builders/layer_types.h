#pragma once
// The table of layer types.
#include <map>
#include <string>
#include <vector>

#include "engine/builders/layers.h"

namespace pipescope::builders {

/// The model under construction, as the build function of a layer sees it.
struct LayerContext {
  const LayerSpec& layer;
  const std::map<std::string, std::int64_t>& parameters;  ///< checked; every key of the type has a value
  const LayersModel& model;
  const ops::OperatorRegistry& registry;
  graph::Graph& graph;
  graph::TensorId current;   ///< result of the previous layer; a build function replaces it
  std::string currentLayer;  ///< the layer that made `current`, for error sentences
};

struct LayerKey {
  std::string name;
  bool required = false;
  std::int64_t least = 0;
};

struct LayerType {
  std::string name;
  std::vector<LayerKey> keys;
  base::Status (*build)(LayerContext& context) = nullptr;
};

const std::vector<LayerType>& allLayerTypes();

}  // namespace pipescope::builders
