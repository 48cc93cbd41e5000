#pragma once
// Bounds and estimates of a combination of dimensions from the costs of its ranks.
#include <cstdint>
#include <string>

#include "app/plan/dimension_costs.h"
#include "engine/plan/bounded_search.h"

namespace pipescope::plan {

/// A way to divide a model and its samples over chips.
struct Division {
  std::int64_t width = 1, places = 1, replicas = 1;  ///< ranks of a place, places, replicas
  std::int64_t holders =
      1;  ///< the most chips that hold the same weights: replicas, and ranks with own tokens
  std::int64_t chunks = 1;                            ///< stages of each place
  std::int64_t microBatchSize = 1, microBatches = 1;  ///< of a replica in a weight update
  std::int64_t iterations = 1;                        ///< weight updates of a call
  std::int64_t zero = 0;
  bool placesOutermost = false;     ///< see compile::Mesh
  std::string schedule, recompute;  ///< "1f1b"; "none", "selective", "pipeline" or "checkpoints"
  double scoreBytes = 0;            ///< selective: bytes of a layer and micro-batch that are not kept
  bool training = true;
};

}  // namespace pipescope::plan

namespace pipescope::app {

/// The bound holds for every split into stages: products at the peak of the devices, fill and drain of the
/// pipeline, and the bytes of weights, optimizer and sums. The estimate also has all other work of the
/// layers, activations, and sums over replicas.
plan::Prospect prospectOf(const RankCosts& rank, const plan::Division& division);

}  // namespace pipescope::app
