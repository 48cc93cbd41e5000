#pragma once
// Shows a plan over all dimensions as `pipescope plan` prints it.
#include <string>

#include "app/plan/dimension_plan.h"

namespace pipescope::cli {

std::string toText(const app::DimensionPlan& planned, const std::string& file);
/// The keys of every plan of a model, with "dimensions".
std::string toJson(const app::DimensionPlan& planned);

}  // namespace pipescope::cli
