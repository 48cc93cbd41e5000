#pragma once
// Configurations of system fixed, whose costs are given instead of a model.
#include <string>

#include "app/run/request/compilation.h"
#include "engine/config/configuration.h"

namespace pipescope::app {

/// Refused: keys for IPUs on a system of another family.
base::Status checkIpuKeys(const config::Configuration& configuration, const std::string& family);

/// Refused besides: keys and strategies that are about tensors.
base::Result<Compilation> compileFixedConfiguration(const config::Configuration& configuration);

}  // namespace pipescope::app
