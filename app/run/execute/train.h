#pragma once
#include <memory>

#include "app/run/execute/run_context.h"

namespace pipescope::app {

/// Trains for training.epochs, with validation between them if the configuration wants it.
std::unique_ptr<ExecutableRun> makeTraining(const RunSetup& setup, std::size_t executable);

}  // namespace pipescope::app
