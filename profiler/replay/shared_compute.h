#pragma once
// Processes that share the cores of one machine slow each other. Finds how many devices of a recorded job
// compute at full speed at the same time.
#include <vector>

#include "profiler/replay/learned_passes.h"

namespace pipescope::replay {

/// Number of devices, maybe a fraction, of which the passes are equally long once they are computed at full
/// speed: while n devices compute, each pass advances at min(1, number ÷ n) of it. 0: the passes do not tell,
/// or are as equal without that. `placeOfStage` has at least two places.
double sharedCompute(const std::vector<LearnedIteration>& iterations, const std::vector<int>& placeOfStage);

/// Shortens the work of each pass to what it takes at full speed.
void removeSharing(double shared, const std::vector<int>& placeOfStage,
                   std::vector<LearnedIteration>& iterations);

}  // namespace pipescope::replay
