#pragma once
#include <memory>

#include "app/run/execute/run_context.h"

namespace pipescope::app {

/// Infers over the test data with the weights of the training before it. If nothing is trained, it uses the
/// weights that execution.load_weights names, or else the initial weights.
std::unique_ptr<ExecutableRun> makeInference(const RunSetup& setup, std::size_t executable);

}  // namespace pipescope::app
