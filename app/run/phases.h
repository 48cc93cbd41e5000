#pragma once
// Strategies: who computes when, and which of them go together with what.
#include <vector>

#include "engine/compile/placement.h"
#include "engine/config/configuration.h"
#include "profiler/base/result.h"

namespace pipescope::app {

bool isPipelined(const config::Configuration& configuration);
bool isPhased(const config::Configuration& configuration);

/// Refused: keys of one strategy that another has no use for; I/O tiles that PopART does not take.
base::Status checkStrategy(const config::Configuration& configuration);

/// Stages as phases: all on device 0 (serial), or by turns on devices of even and odd number (parallel). Refused: no
/// stages, a device that is not the one device, or not of its phase's parity.
base::Status placePhases(const config::Configuration& configuration, std::vector<compile::StageSpec>& asked);

}  // namespace pipescope::app
