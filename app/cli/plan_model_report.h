#pragma once
// Shows a plan as `pipescope plan CONFIG` prints it.
#include <string>

#include "app/plan/plan_request.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::cli {

std::string toText(const app::ConfigurationPlan& planned, const std::string& file);
/// The keys are the same for every plan; null stands for what it does not have.
std::string toJson(const app::ConfigurationPlan& planned);

/// The same for a configuration that was compiled as it is.
std::string toText(const app::PresentPlan& present, const std::string& file);
std::string toJson(const app::PresentPlan& present);

/// "6.21 samples/s, 25,445 tokens/s", and that a plan does not fit.
std::string rateText(const plan::TriedPlan& tried);
/// The stages of a plan. Text shows the first ones of many.
sections::SectionTable stageTable(const char* key, const char* title, const plan::TriedPlan& tried);

}  // namespace pipescope::cli
