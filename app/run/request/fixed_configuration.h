#pragma once
// Configurations of system fixed, whose costs are given instead of a model.
#include <vector>

#include "app/run/request/compilation.h"
#include "engine/config/configuration.h"
#include "engine/devices/core/system_options.h"

namespace pipescope::app {

/// The given keys that only some families take; devices::makeSystem refuses them for other families.
std::vector<devices::FamilySetting> deviceSettings(const config::Configuration& configuration);

/// Refuses these settings, and keys and strategies that are about tensors.
base::Result<Compilation> compileFixedConfiguration(const config::Configuration& configuration);

}  // namespace pipescope::app
