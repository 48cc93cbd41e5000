#pragma once
// The layers of learned stages, with their share of what was measured of the stage.
#include <vector>

#include "app/run/learn/learned_configuration.h"

namespace pipescope::app {

/// Equal layers of a stage, or what its first or last layers need besides. Costs of one layer in seconds.
struct CostLayer {
  int stage = 0, count = 1;
  bool counted = true;
  double forward = 0, recompute = 0, backward = 0, weight = 0, update = 0;
  std::int64_t sends = 0, holds = 0, stash = 0;
};

/// The layers in the order of the pipeline. What the first and the last stage need beyond the median layer of
/// the stages between them becomes an entry that does not count, because it does not move with the layers.
std::vector<CostLayer> costLayers(const replay::LearnedModel& learned, const LearnedLayers& layers);

/// True if the numbers are those into which fixed.places divides their sum by itself.
bool isEqualSplit(const std::vector<int>& split);

}  // namespace pipescope::app
