#pragma once
// Movement of the slowness of workers over the iterations of a recorded run.
#include <string>
#include <vector>

namespace pipescope::analysis {

enum class SlownessPattern {
  none,      ///< no worker is slow
  fixed,     ///< the same workers are slow all the time: their hardware, or what they are given to do
  passing,   ///< workers are slow for a stretch of time and then no longer
  rotating,  ///< the slow worker changes from iteration to iteration, for example with the length of its
             ///< inputs
};
const char* nameOf(SlownessPattern pattern);

struct Slowness {
  SlownessPattern pattern = SlownessPattern::none;
  /// Workers of a fixed or passing pattern, as indices, and the iterations in which one of them is slow.
  std::vector<std::size_t> workers;
  std::size_t firstIteration = 0, lastIteration = 0;
  std::size_t slowIterations = 0;  ///< iterations in which any worker is slow
};

/// `pace[worker][iteration]` is the time of a worker's computations ÷ the usual time of the same computations
/// (Stragglers::pace). A worker is slow in an iteration if its pace is 10 % above the median of all workers
/// in this iteration.
///
/// Fixed: the workers that are slow in at least three quarters of the iterations make up at least half of all
/// slowness. Passing: at least half of all slowness lies in unbroken stretches of three or more iterations of
/// a worker. Rotating: anything else.
Slowness slownessOf(const std::vector<std::vector<double>>& pace);

}  // namespace pipescope::analysis
