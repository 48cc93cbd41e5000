#pragma once
// Variants of a plan that several instances searched.
#include <cstddef>
#include <vector>

#include "app/plan/plan_request.h"
#include "engine/numerics/instances.h"

namespace pipescope::app {

/// Gives every instance the results of all. Instance i of n has searched the places i, i + n … of `order`,
/// which holds indices into `variants`.
void joinVariants(const numerics::Instances& instances, const std::vector<std::size_t>& order,
                  std::vector<VariantResult>& variants);

}  // namespace pipescope::app
