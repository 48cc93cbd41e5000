#pragma once
#include <vector>

#include "profiler/analysis/pipeline/waits.h"

namespace pipescope::analysis {

/// A device that others wait for at collectives, because it is the last one to arrive. A collective hides how
/// slow it is: all devices of a data-parallel job then show equally long steps.
struct LateArrival {
  model::DeviceId device;
  int waiting = 0;               ///< number of devices that wait for it
  double ticksPerIteration = 0;  ///< time that one of these waits, on average
  double share = 0;              ///< that time ÷ the length of the run
};

/// The devices that are waited for at collectives, the longest waits first.
std::vector<LateArrival> lateArrivals(const std::vector<WaitGroup>& waits);

/// The one device that makes up most of these waits, if they are noticeable. Null: there is none.
const LateArrival* lastToArrive(const std::vector<LateArrival>& arrivals);

}  // namespace pipescope::analysis
