#pragma once
// Makes a model from a list of simple layers, as [[model.layers]] gives it.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::builders {

/// One layer. The node is called `name`, the result "<name>/out" and the weights "<name>/weight" and
/// "<name>/bias".
struct LayerSpec {
  std::string type;   ///< conv, maxpool, relu, flatten or linear; cross_entropy as the last layer
  std::string name;   ///< unique name path, "layer1/conv"
  std::string block;  ///< "B1"
  /// Only the parameters that the user gave. conv has in_channels, out_channels, kernel_size, stride and
  /// padding; maxpool has kernel_size, stride and padding; linear has in_features and out_features. If a key
  /// is optional, 0 means that it is not given.
  std::map<std::string, std::int64_t> parameters;
};

struct LayersModel {
  std::vector<LayerSpec> layers;
  graph::Shape sample;  ///< shape of one sample, {1, 28, 28}
  std::int64_t microBatch = 1;
  graph::ElementType element = graph::ElementType::float32;
  graph::ElementType labels = graph::ElementType::int32;
};

/// The layer types that LayerSpec::type may name, sorted.
std::vector<std::string> layerTypes();

/// Returns the forward graph. The inputs of the graph are "samples" (micro-batch × sample) and, with a loss,
/// "labels" (micro-batch). The output is the last layer before the loss. Weights and biases start with
/// PyTorch's default, uniform within ±1/√fan_in. Errors name the layer and both figures.
base::Result<graph::Graph> buildLayers(const LayersModel& model, const ops::OperatorRegistry& registry);

}  // namespace pipescope::builders
