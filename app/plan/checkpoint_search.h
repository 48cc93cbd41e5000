#pragma once
// Chooses which results of a plan are kept where the rest is computed again.
#include "app/plan/plan_request.h"
#include "app/plan/plan_trial.h"

namespace pipescope::app {

/// Searches the subsets of the results that each stage of the plan could keep, and changes the plan, its
/// settings and its configuration where that is better: less memory is missing, or the call is shorter, or
/// neither changes and the stage lacks less or is shorter. Every subset that is tried is compiled and
/// emulated.
///
/// A stage may keep the results of its blocks but the last one. One that has a single block may keep the
/// results of its operators. The search begins with every result, every second, every third and so on of all
/// stages. Then it changes one stage after another, the fullest first, and leaves out or adds single results.
/// It ends when no change is better, or after 60 plans.
base::Status chooseCheckpoints(const compile::ModelRequest& request, const TrialContext& context,
                               PlannedVariant& planned);

/// Lets the plan keep these results if that is better.
base::Status tryCheckpoints(const std::vector<std::string>& names, const compile::ModelRequest& request,
                            const TrialContext& context, PlannedVariant& planned);

}  // namespace pipescope::app
