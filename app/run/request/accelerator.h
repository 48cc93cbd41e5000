#pragma once
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Resolves system.accelerator and system.devices = "auto": sets the system's name and the number of devices.
/// Refuses a system without the chosen accelerator. The error names a system that has it.
base::Result<config::Configuration> withAccelerator(const config::Configuration& configuration);

}  // namespace pipescope::app
