#pragma once
// Builds the model that [model] chooses.
#include "engine/config/configuration.h"
#include "engine/graph/graph.h"

namespace pipescope::app {

/// Refuses a configuration without a model, with several, or with a builder's settings but no builder.
base::Status checkModelChoice(const config::Configuration& configuration);

/// The forward graph of the training or the inference executable.
base::Result<graph::Graph> buildGraph(const config::Configuration& configuration, bool training);

/// Key heads of a builder's model that are fewer than the ranks that divide its heads.
struct RepeatedKeys {
  std::int64_t heads = 0, repeats = 1;
};
/// None: each rank has whole key heads, or heads cannot be divided by repeating.
std::optional<RepeatedKeys> repeatedKeys(const config::Configuration& configuration);
/// The same graph with key heads that are repeated, as many as there are ranks.
base::Result<graph::Graph> buildGraphOfRanks(const config::Configuration& configuration, bool training);

}  // namespace pipescope::app
