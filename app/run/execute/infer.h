#pragma once
#include <optional>

#include "app/run/execute/run.h"
#include "app/run/execute/run_context.h"

namespace pipescope::app {

/// Infers over the test data with the given weights. If none are given, it uses the weights that
/// execution.load_weights names, or else the initial weights.
base::Status runInference(RunContext& context, std::size_t executable,
                          const std::optional<numerics::Parameters>& weights, RunResult& result);

}  // namespace pipescope::app
