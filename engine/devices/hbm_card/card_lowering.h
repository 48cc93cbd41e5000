#pragma once
// Lowers all stages of one card, pass by pass, to segments with steps and to memory.
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "engine/devices/hbm_card/card_model.h"

namespace pipescope::devices::hbm_card {

/// All stages are on one device, named `deviceName`. A pass is a recipe. The backward pass is cut where a
/// bucket of gradients is complete, because the collective starts there.
base::Result<LoweredDevice> lowerStages(const std::vector<const compile::StageIr*>& stages,
                                        const std::string& deviceName, const CardModel& model);

}  // namespace pipescope::devices::hbm_card
