#pragma once
#include <memory>
#include <vector>

#include "profiler/clock/flush.h"

namespace pipescope::clock {

/// A replica while it runs.
struct RunningReplica {
  PlaceClocks clocks;
  std::unique_ptr<Flush> flush;
};
using RunningReplicas = std::vector<std::unique_ptr<RunningReplica>>;

}  // namespace pipescope::clock
