#pragma once
// Layers of system fixed, which give costs instead of a model, and their division into stages.
#include <vector>

#include "engine/compiler/fixed_compiler.h"
#include "engine/config/configuration.h"

namespace pipescope::app {

/// The costs that an entry of [[fixed.stages]] or [[fixed.layers]] states.
compile::FixedRun::Stage fixedCosts(const config::Settings& entry);

/// The stages of [[fixed.layers]] for this schedule: fixed.places devices with as many stages each as the
/// schedule and execution.chunks want, of the layers that fixed.split says, or of equally many. Errors: more
/// stages than layers that count, no number of devices, a division of another number of stages or layers.
base::Result<std::vector<compile::FixedRun::Stage>> stagesOfLayers(const config::Configuration& configuration,
                                                                   const std::string& schedule);

/// Numbers of layers of each stage that differ by one at most.
std::vector<std::int64_t> equalSplit(std::int64_t layers, std::int64_t stages);

}  // namespace pipescope::app
