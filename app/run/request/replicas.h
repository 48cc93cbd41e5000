#pragma once
// How many replicas a configuration asks for, and what is said of single devices.
#include <vector>

#include "engine/compile/plan.h"
#include "engine/config/configuration.h"
#include "engine/emulate/executable.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Replicas of an executable whose stages take `devicesPerReplica` devices. Training has
/// training.replication_factor; where that is not given, system.devices ÷ devicesPerReplica; otherwise 1.
/// Inference has its own factor, and follows system.devices only where nothing is trained. Refused: devices
/// that do not divide or do not suffice, groups that do not divide the replicas, more replicas than are
/// computed in one process.
base::Result<int> chooseReplicas(const config::Configuration& configuration, bool training,
                                 int devicesPerReplica);

/// The [[device_scale]] entries. Refused: a device twice, or one that nothing runs on.
base::Result<std::vector<emulate::DeviceScale>> deviceScales(const config::Configuration& configuration,
                                                             int devicesUsed);

}  // namespace pipescope::app
