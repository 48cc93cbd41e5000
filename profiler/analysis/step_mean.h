#pragma once
// The mean time of a step's units over those that have work.
#include "profiler/model/executable_rows.h"

namespace pipescope::analysis {

/// Mean ticks over the active units, which are also those of minTicks and maxTicks. A profile has the mean
/// over all `units` of the device, where idle ones count as 0.
inline double meanOfActive(const model::Step& step, std::int64_t units) {
  if (step.activeUnits <= 0) return step.meanTicks;
  return step.meanTicks * static_cast<double>(units) / static_cast<double>(step.activeUnits);
}

}  // namespace pipescope::analysis
