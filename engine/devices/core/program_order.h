#pragma once
// The order in which one device's program has the passes of the stages that it holds.
#include <vector>

#include "engine/compile/plan.h"

namespace pipescope::devices {

struct OrderedPass {
  const compile::StagePlan* stage = nullptr;
  const compile::PassPlan* pass = nullptr;
};

/// Host in, forward, then per stage from the last recompute, backward and weight gradients, then collectives,
/// update, what else there is, host out.
std::vector<OrderedPass> programOrder(const std::vector<const compile::StagePlan*>& stages);

}  // namespace pipescope::devices
