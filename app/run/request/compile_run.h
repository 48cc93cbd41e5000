#pragma once
#include "engine/compile/model/compilation.h"
#include "engine/config/configuration.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Validates a configuration and compiles what it asks for, before any data is touched. Every refusal is a
/// sentence that names the key, block, layer or stage. Devices are lowered side by side on `executor`, where
/// there is one; the result does not depend on it.
base::Result<compile::Compilation> compileRun(const config::Configuration& configuration,
                                              base::Executor* executor = nullptr);

}  // namespace pipescope::app
