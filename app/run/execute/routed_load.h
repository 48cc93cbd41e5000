#pragma once
// Counts the tokens that the router of a model sends to each expert, before the model is compiled.
#include "engine/config/configuration.h"
#include "profiler/base/progress.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// The configuration with tokens for each expert of each layer instead of execution.expert_load = "routed".
/// The forward pass of up to eight micro-batches of the first executable is computed, with the samples and
/// the weights with which the run begins. Other configurations, and those without expert_parallel, are
/// returned as they are. Refused: a run that computes no numbers, and a model without experts.
base::Result<config::Configuration> withRoutedLoad(const config::Configuration& configuration,
                                                   base::Progress& progress);

}  // namespace pipescope::app
