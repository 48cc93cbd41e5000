#pragma once
// Shows a plan as `pipescope plan CONFIG` prints it.
#include <string>

#include "app/plan/plan_request.h"

namespace pipescope::cli {

std::string toText(const app::ConfigurationPlan& planned, const std::string& file);
/// The keys are the same for every plan; null stands for what it does not have.
std::string toJson(const app::ConfigurationPlan& planned);

/// The same for a configuration that was compiled as it is.
std::string toText(const plan::TriedPlan& present, const std::string& file);
std::string toJson(const plan::TriedPlan& present);

}  // namespace pipescope::cli
