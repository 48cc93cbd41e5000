#pragma once
// Translates configurations of system fixed, which give costs instead of a model.
#include "engine/compiler/fixed_compiler.h"
#include "engine/config/configuration.h"

namespace pipescope::app {

/// The run that [fixed], [[fixed.stages]] and [execution] describe. Refuses keys and strategies that concern
/// tensors or one kind of device, and [[stages]] that do not match [[fixed.stages]].
base::Result<compile::FixedRun> fixedRun(const config::Configuration& configuration);

}  // namespace pipescope::app
