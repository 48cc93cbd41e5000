#pragma once
// ONNX models: the graph of an executable, and the way of its weights back into a file.
#include <filesystem>

#include "engine/config/configuration.h"
#include "engine/graph/graph.h"
#include "engine/numerics/parameters.h"

namespace pipescope::app {

/// The forward graph of model.onnx with its blocks, for training with the loss of training.loss.
base::Result<graph::Graph> buildFromOnnx(const config::Configuration& configuration, bool training);

/// Refuses --save-weights if there is nothing to save: no model.onnx, no training or no numerics.
base::Status checkSaveWeights(const config::Configuration& configuration);

/// Writes model.onnx again with these weights as initializers.
base::Status saveOnnxWeights(const config::Configuration& configuration, const numerics::Parameters& weights,
                             const std::filesystem::path& file);

}  // namespace pipescope::app
