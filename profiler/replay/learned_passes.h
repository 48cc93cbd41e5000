#pragma once
// The passes of a recorded call, by iteration, as learning needs them: how long each one worked, and what it
// waited for.
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::replay {

/// One pass of a micro-batch on a stage. Times are in seconds since the start of the call.
struct LearnedPass {
  int stage = 0, microBatch = 0;
  model::Pass pass = model::Pass::forward;  ///< forward, recompute, backward or weightGradient
  double start = 0, end = 0;
  double work = 0;  ///< time of its pieces; pauses between them do not count
};

/// One iteration. Sums of a stage are in seconds.
struct LearnedIteration {
  int number = 0;
  double start = 0, end = 0;
  std::vector<LearnedPass> passes;           ///< of the first replica, by start
  std::vector<double> updates, collectives;  ///< time of each stage
  double length() const { return end - start; }
};

/// The iterations of the executable's last call that are whole. Errors: there is no call, no iteration, or
/// the passes name no micro-batch.
base::Result<std::vector<LearnedIteration>> learnedIterations(const model::ProfileSource& source,
                                                              const analysis::Catalog& catalog,
                                                              model::ExecutableId executable);

/// Removes the iterations before the first one that lasts at most 5 % longer than the median of all: devices
/// that warm up are slow in these. Returns how many there were.
int removeWarmUp(std::vector<LearnedIteration>& iterations);

/// The middle value, or the mean of the two middle ones; 0 without values.
double middleOf(std::vector<double> values);

}  // namespace pipescope::replay
