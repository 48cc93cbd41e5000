#pragma once
#include <optional>
#include <string>

#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// A configuration whose system.name and system.devices are those that run.
struct ChosenSystem {
  config::Configuration configuration;
  std::optional<std::string> notice;  ///< tells the user that another system runs than the file names
};

/// Resolves system.accelerator and system.devices = "auto". If the accelerator comes from a stronger origin
/// than a system that does not have it (a flag, but the system from the file), the usual system of the
/// accelerator runs instead. Otherwise such a system is refused. The error names a system that has it.
/// Without execution.schedule, pipelines get the schedule that is usual for the system, unless stages name
/// their devices.
base::Result<ChosenSystem> chooseSystem(const config::Configuration& configuration);

}  // namespace pipescope::app
