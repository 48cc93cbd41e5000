#pragma once
// Tries out changes of a plan whose split stays as it is.
#include <cstdint>

#include "engine/plan/divided_model.h"
#include "engine/plan/model_planner.h"

namespace pipescope::app {

struct TrialContext {
  plan::SharedStages& known;
  base::Executor& executor;
  base::Progress& progress;
  std::int64_t& compiled;  ///< counts the trials
};

/// The request with the stages of the split.
compile::ModelRequest withSplit(const compile::ModelRequest& request, const plan::SplitPlan& split);

/// Compiles a request, and counts it. Errors: what the compiler refuses, and a cancelled progress.
base::Result<compile::Compilation> tryRequest(const compile::ModelRequest& request,
                                              const TrialContext& context);

}  // namespace pipescope::app
