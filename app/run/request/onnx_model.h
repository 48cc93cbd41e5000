#pragma once
#include "engine/config/configuration.h"
#include "engine/onnx/model.h"

namespace pipescope::app {

/// The model of model.onnx: its content if that was given in memory, or else the file. `weights` says whether
/// the values of large initializers are read.
base::Result<onnx::Model> readOnnxModel(const config::Configuration& configuration,
                                        onnx::Weights weights = onnx::Weights::all);

}  // namespace pipescope::app
