#pragma once
#include <memory>

#include "engine/config/configuration.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::app {

/// The optimizer that the keys training.* choose.
base::Result<std::unique_ptr<optimizers::Optimizer>> chooseOptimizer(
    const config::Configuration& configuration);

}  // namespace pipescope::app
