#pragma once
#include "engine/compiler/model_request.h"
#include "engine/config/configuration.h"
#include "engine/plan/divided_model.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Checks a configuration as compileRun() does before it compiles: the choice of the system, each key beside
/// the others, and the model's graph. It reads the ONNX file of the model, but no data.
base::Status checkRun(const config::Configuration& configuration);

/// The request that compileRun() compiles, after the same checks. Refused: a system with given costs, which
/// has no model.
base::Result<compile::ModelRequest> requestOfRun(const config::Configuration& configuration);

/// Sets LayoutRequest::copiesWeights to what the framework of the request's system does. Errors: no such
/// system.
base::Status addWeightCopies(compile::ModelRequest& request);

/// Validates a configuration and compiles its executables before it reads any data. Every error message names
/// the key, block, layer or stage. If there is an `executor`, it lowers devices in parallel; `known`
/// remembers what they made of stages, for further compilations. The result depends on neither.
base::Result<compile::Compilation> compileRun(const config::Configuration& configuration,
                                              base::Executor* executor = nullptr,
                                              plan::SharedStages* known = nullptr);

}  // namespace pipescope::app
