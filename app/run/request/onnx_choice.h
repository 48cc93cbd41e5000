#pragma once
// Reads the graph of an ONNX model and writes trained weights back into an ONNX file.
#include <filesystem>

#include "engine/config/configuration.h"
#include "engine/graph/graph.h"
#include "engine/numerics/parameters.h"

namespace pipescope::app {

/// The forward graph of model.onnx with its blocks, for training with the loss of training.loss.
base::Result<graph::Graph> buildFromOnnx(const config::Configuration& configuration, bool training);

/// Refuses --save-weights if there is nothing to save: no model.onnx, no training or no numerics.
base::Status checkSaveWeights(const config::Configuration& configuration);

/// Writes a copy of model.onnx with these weights as initializers.
base::Status saveOnnxWeights(const config::Configuration& configuration, const numerics::Parameters& weights,
                             const std::filesystem::path& file);

}  // namespace pipescope::app
