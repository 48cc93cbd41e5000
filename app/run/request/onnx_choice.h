#pragma once
// [model] onnx = …: the graph of an executable, and its weights back into a file.
#include <filesystem>

#include "engine/config/configuration.h"
#include "engine/graph/graph.h"
#include "engine/numerics/parameters.h"

namespace pipescope::app {

/// The forward graph of model.onnx with its blocks, for training with the loss of training.loss.
base::Result<graph::Graph> buildFromOnnx(const config::Configuration& configuration, bool training);

/// Refuses --save-weights where there is nothing to save: no model.onnx, no training, no numerics.
base::Status checkSaveWeights(const config::Configuration& configuration);

/// model.onnx once more, with these weights as its initializers.
base::Status saveOnnxWeights(const config::Configuration& configuration, const numerics::Parameters& weights,
                             const std::filesystem::path& file);

}  // namespace pipescope::app
