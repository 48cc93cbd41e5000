#pragma once
#include <optional>

#include "app/run/execute/run.h"
#include "app/run/execute/run_context.h"

namespace pipescope::app {

/// Trains for training.epochs and returns the trained weights in `weights`.
base::Status runTraining(RunContext& context, std::size_t executable,
                         std::optional<numerics::Parameters>& weights, RunResult& result);

}  // namespace pipescope::app
