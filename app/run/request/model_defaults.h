#pragma once
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Sets what the configuration leaves open and the ONNX file decides: micro-batch sizes if the file fixes the
/// first axis of all its inputs, and training.loss = "model" if the file has a loss of its own. With
/// execution.stages = N, 2N micro-batches fill the pipeline. A named host sets keys of [host]
/// (withHostDefaults). Gives the errors of the files.
base::Result<config::Configuration> withModelDefaults(const config::Configuration& configuration);

}  // namespace pipescope::app
