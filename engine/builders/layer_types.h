#pragma once
// What each type of layer is made of.
#include <map>
#include <string>
#include <vector>

#include "engine/builders/layers.h"

namespace pipescope::builders {

/// A model under construction, as a layer's build function sees it.
struct LayerContext {
  const LayerSpec& layer;
  const std::map<std::string, std::int64_t>& parameters;  ///< checked; every key of the type has a value
  const LayersModel& model;
  const ops::OperatorRegistry& registry;
  graph::Graph& graph;
  graph::TensorId current;   ///< result of the layer before; build functions move it on
  std::string currentLayer;  ///< who made it, for sentences
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
