#pragma once
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// The configuration with system.accelerator and system.devices = "auto" worked out: the system's name and
/// the number of its devices are set. Refused: a system of another kind than the accelerator asked for, with
/// one that would do.
base::Result<config::Configuration> withAccelerator(const config::Configuration& configuration);

}  // namespace pipescope::app
