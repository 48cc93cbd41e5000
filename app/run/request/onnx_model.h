#pragma once
#include "engine/config/configuration.h"
#include "engine/onnx/model.h"

namespace pipescope::app {

/// The model of model.onnx: its content if that was given in memory, or else the file.
base::Result<onnx::Model> readOnnxModel(const config::Configuration& configuration);

}  // namespace pipescope::app
