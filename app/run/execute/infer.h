#pragma once
#include <optional>

#include "app/run/execute/run.h"
#include "app/run/execute/run_context.h"

namespace pipescope::app {

/// Infers over the test data with the given weights. Without any, it takes those of execution.load_weights,
/// or else the initial ones.
base::Status runInference(RunContext& context, std::size_t executable,
                          const std::optional<numerics::Parameters>& weights, RunResult& result);

}  // namespace pipescope::app
