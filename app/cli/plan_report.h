#pragma once
// Shows a plan as `pipescope plan --profile` prints it.
#include <cstdint>
#include <string>

#include "engine/plan/cost_planner.h"

namespace pipescope::cli {

struct ProfilePlan {
  std::string file;
  plan::CostRequest request;
  std::int64_t samplesPerMicroBatch = 1;
  plan::LayerProfile layers;
  plan::CostPlan best;
};

std::string toText(const ProfilePlan& planned);
/// The keys are the same for every plan; null stands for what it does not have.
std::string toJson(const ProfilePlan& planned);

}  // namespace pipescope::cli
