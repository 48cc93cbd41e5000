#pragma once
// A model from a list of simple layers, as [[model.layers]] gives it.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::builders {

/// One layer. Its node is called `name`, its result "<name>/out", its weights "<name>/weight" and
/// "<name>/bias".
struct LayerSpec {
  std::string type;   ///< conv, maxpool, relu, flatten, linear; cross_entropy as the last one
  std::string name;   ///< unique name path, "layer1/conv"
  std::string block;  ///< "B1"
  /// Only what was given. conv: in_channels, out_channels, kernel_size, stride, padding; maxpool:
  /// kernel_size, stride, padding; linear: in_features, out_features. Where a key may be left out, 0 means
  /// the same.
  std::map<std::string, std::int64_t> parameters;
};

struct LayersModel {
  std::vector<LayerSpec> layers;
  graph::Shape sample;  ///< shape of one sample, {1, 28, 28}
  std::int64_t microBatch = 1;
  graph::ElementType element = graph::ElementType::float32;
  graph::ElementType labels = graph::ElementType::int32;
};

/// Types that LayerSpec::type may say, sorted.
std::vector<std::string> layerTypes();

/// The forward graph: inputs "samples" (micro-batch × sample) and, with a loss, "labels" (micro-batch); its
/// output is the last layer's before the loss. Weights start as PyTorch's defaults do: uniform within
/// ±1/√fan_in, biases too. Errors name the layer and both figures.
base::Result<graph::Graph> buildLayers(const LayersModel& model, const ops::OperatorRegistry& registry);

}  // namespace pipescope::builders
