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

/// Phase of each stage: its position, or what stages[].phase says.
std::vector<int> phaseOfStages(const config::Configuration& configuration, int stages);

/// Stages as phases: by turns on one group of devices (serial: 0, 1 …), or on the devices of even and of odd
/// number (parallel: 0, 2 … and 1, 3 …), a device for each stage of a phase. Refused: no stages, phases that
/// do not count up from 0 or have not equally many stages, a device that is not of the group, or not of its
/// phase's parity, or twice in a phase.
base::Status placePhases(const config::Configuration& configuration, std::vector<compile::StageSpec>& asked);

}  // namespace pipescope::app
