#pragma once
// Configurations of system fixed, whose costs are given instead of a model.
#include "engine/compile/model/fixed_compiler.h"
#include "engine/config/configuration.h"

namespace pipescope::app {

/// The run that [fixed], [[fixed.stages]] and [execution] ask for. Refused: keys and strategies that are
/// about tensors or about a kind of device, and [[stages]] that do not match [[fixed.stages]].
base::Result<compile::FixedRun> fixedRun(const config::Configuration& configuration);

}  // namespace pipescope::app
