#pragma once
// Lowers all stages of one IPU, pass by pass, to segments with steps and to memory.
#include <memory>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/ipu/lowered_work.h"

namespace pipescope::devices::ipu {

/// Ignores `context.what`. All stages are on one device, named `deviceName`.
base::Result<LoweredDevice> lowerStages(const std::vector<const compile::StageIr*>& stages,
                                        const std::string& deviceName, const IpuLoweringContext& context);

}  // namespace pipescope::devices::ipu
