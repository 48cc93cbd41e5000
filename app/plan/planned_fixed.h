#pragma once
#include <string>
#include <vector>

#include "engine/plan/cost_planner.h"

namespace pipescope::app {

/// A configuration of system `fixed` that runs the plan as it was emulated; one unit is a millisecond.
/// `source` names the file of the layers.
std::string plannedToml(const plan::CostPlan& plan, const plan::LayerProfile& layers,
                        const std::string& source);

}  // namespace pipescope::app
