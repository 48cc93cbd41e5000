#pragma once
#include <memory>

#include "app/run/execute/run_context.h"
#include "app/run/request/generation.h"

namespace pipescope::app {

/// Emulates one generation: the prompt, then a decoding step for each further token. The executables of the
/// program are those of generationParts().
std::unique_ptr<ExecutableRun> makeGeneration(const RunSetup& setup, const Generation& generation);

}  // namespace pipescope::app
