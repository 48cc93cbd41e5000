#pragma once
#include <memory>

#include "engine/config/configuration.h"
#include "engine/optimizers/optimizer.h"

namespace pipescope::app {

/// The optimizer that training.* asks for.
base::Result<std::unique_ptr<optimizers::Optimizer>> chooseOptimizer(
    const config::Configuration& configuration);

}  // namespace pipescope::app
