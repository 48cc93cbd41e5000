#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/config/configuration.h"
#include "engine/optimizers/optimizer_group.h"

namespace pipescope::app {

/// The settings that the keys training.* give to the chosen optimizer, by name.
std::map<std::string, double> optimizerSettings(const config::Configuration& configuration);

/// The same for each entry of [[training.groups]].
std::vector<std::map<std::string, double>> groupSettings(const config::Configuration& configuration);

/// The groups of [[training.groups]] with rules of their own. Names of parameters are checked later.
base::Result<optimizers::OptimizerGroups> chooseGroups(const config::Configuration& configuration);

/// The optimizer that the keys training.* choose.
base::Result<std::unique_ptr<optimizers::Optimizer>> chooseOptimizer(
    const config::Configuration& configuration);

}  // namespace pipescope::app
