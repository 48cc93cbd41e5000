#pragma once
#include <vector>

#include "engine/config/key.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::optimizers {

/// The key training.optimizer, and one for each setting that a registered rule has.
std::vector<config::Key> optimizerKeys(const OptimizerRegistry& registry);

/// The keys of [[training.groups]]: parameters, and the settings of all rules.
std::vector<config::Key> groupKeys(const OptimizerRegistry& registry);

/// The key training.lr_schedule, and one for each setting that a kind of schedule has.
std::vector<config::Key> learningRateKeys();

}  // namespace pipescope::optimizers
