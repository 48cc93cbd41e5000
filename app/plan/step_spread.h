#pragma once
// The trust in emulated step times of a system when plans are compared.
#include <optional>

#include "engine/devices/core/device_family.h"

namespace pipescope::app {

/// Standard deviation of ln(emulated ÷ true) of a step time: that of a calibration, or of compared training
/// steps or decoding steps on the chip. None: neither exists.
std::optional<double> stepSpread(const devices::System& system, bool training);

/// Standard deviation of ln(emulated ÷ true) of memory, if a calibration of the system states it.
std::optional<double> memorySpread(const devices::System& system);

}  // namespace pipescope::app
