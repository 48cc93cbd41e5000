#pragma once
// All operators that Pipescope knows, from every group of this folder.
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Adds every operator of every group. The build generates this function.
void registerOperators(OperatorRegistry& registry);

/// A registry of all operators. It is made at the first call and lives as long as the program.
const OperatorRegistry& standardOperators();

}  // namespace pipescope::ops
