#pragma once
// Builds the model that [model] chooses.
#include "engine/config/configuration.h"
#include "engine/graph/graph.h"

namespace pipescope::app {

/// Refuses a configuration without a model, with several, or with a builder's settings but no builder.
base::Status checkModelChoice(const config::Configuration& configuration);

/// The forward graph of the training or the inference executable.
base::Result<graph::Graph> buildGraph(const config::Configuration& configuration, bool training);

}  // namespace pipescope::app
