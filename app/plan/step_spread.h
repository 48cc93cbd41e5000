#pragma once
// The trust in emulated step times of a system when plans are compared.
#include <optional>

#include "engine/devices/core/device_family.h"

namespace pipescope::app {

/// Standard deviation of ln(emulated ÷ true) of a step time: that of a calibration, or of compared training
/// steps or decoding steps on the chip. None: neither exists.
std::optional<double> stepSpread(const devices::System& system, bool training);

/// Probability that a plan is truly faster than another one whose emulated step takes `ratio` times as long.
/// The errors of two steps on one system have a correlation of 0.5, as those of the parts of a step
/// (profiler/figures/step_interval.h), so that their difference has the spread of one of them.
double shareOfDrawsAhead(double ratio, double spread);

}  // namespace pipescope::app
