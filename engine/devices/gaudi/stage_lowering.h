#pragma once
// All stages of one card, pass by pass, to segments with steps and to memory.
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/gaudi/kernel.h"

namespace pipescope::devices::gaudi {

/// `context.what` is ignored. The stages are of one device, named `deviceName`. A pass is a recipe; where a
/// bucket of gradients is complete the backward pass is cut into two, because the collective starts there.
base::Result<LoweredDevice> lowerStages(const std::vector<const compile::StagePlan*>& stages,
                                        const std::string& deviceName, const LoweringContext& context);

}  // namespace pipescope::devices::gaudi
