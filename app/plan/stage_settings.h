#pragma once
// Plans that give settings to single stages: the available-memory proportion of the stage's device.
#include <string>
#include <vector>

#include "app/plan/plan_request.h"
#include "app/plan/plan_trial.h"

namespace pipescope::app {

/// The choice that is made for each stage on its own.
inline constexpr const char *kStageProportion = "stages.available_memory_proportion",
                            *kProportionSetting = "available_memory_proportion";

/// The values that [[stages]] gives, by stage. Empty: none has one.
std::vector<std::string> givenProportions(const config::Configuration& configuration);

/// Puts the values into a request for a split into as many stages, by the devices of the stages.
base::Status applyProportions(const std::vector<std::string>& values, const std::vector<int>& devices,
                              compile::ModelRequest& request);

/// Tries the values for one stage after another, the longest first, and keeps what is better. The split stays
/// as it is. Changes the plan, its settings and its proportions. Refused: more than 400 trials.
base::Status chooseProportions(const std::vector<std::string>& values, const compile::ModelRequest& request,
                               const TrialContext& context, PlannedVariant& planned);

}  // namespace pipescope::app
