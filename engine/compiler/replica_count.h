#pragma once
#include "engine/compiler/model_request.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Replicas of an executable whose stages take `places` devices. Refused: devices that do not
/// divide or do not suffice, groups that do not divide the replicas, and more replicas than one process
/// computes.
base::Result<int> countReplicas(const ModelRequest& request, const ExecutableRequest& executable, int places);

/// Refuses a scale for a device that nothing runs on.
base::Status checkScales(const std::vector<emulate::DeviceScale>& scales, int devicesUsed);

}  // namespace pipescope::compile
