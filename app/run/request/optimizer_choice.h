#pragma once
#include <map>
#include <memory>
#include <string>

#include "engine/config/configuration.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::app {

/// The settings that the keys training.* give to the chosen optimizer, by name.
std::map<std::string, double> optimizerSettings(const config::Configuration& configuration);

/// The optimizer that the keys training.* choose.
base::Result<std::unique_ptr<optimizers::Optimizer>> chooseOptimizer(
    const config::Configuration& configuration);

}  // namespace pipescope::app
