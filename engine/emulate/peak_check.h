#pragma once
// Checks that no device computes faster than it can.
#include <string>
#include <vector>

#include "engine/devices/core/device_family.h"

namespace pipescope::emulate {

/// A sentence for each operator with products, and for each device, whose floating-point operations would
/// need more time at the peak of their types than the device model gives them.
std::vector<std::string> abovePeak(const devices::System& system,
                                   const std::vector<devices::LoweredDevice>& lowered);

}  // namespace pipescope::emulate
