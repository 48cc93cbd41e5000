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
/// Heads of attention that do not divide by the ranks: it is divided over fewer ranks, and each part is
/// repeated, as PopXL's examples do (attention_tensor_parallel). Ranks add half of each of two equal parts.
struct RepeatedHeads {
  std::int64_t heads = 0, ranks = 1, repeats = 1;  ///< ranks: those that divide the heads
};
/// None: the heads divide, nothing divides them, or the model is trained: the gradients of the copies would
/// have to be summed.
std::optional<RepeatedHeads> repeatedHeads(const config::Configuration& configuration);
/// The same graph with key heads or heads that are repeated, so that they divide by the ranks.
base::Result<graph::Graph> buildGraphOfRanks(const config::Configuration& configuration, bool training);

}  // namespace pipescope::app
