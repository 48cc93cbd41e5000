#include "profiler/clock/call.h"

#include <cmath>

namespace pipescope::clock {

bool OutputRule::returns(std::int64_t index, std::int64_t count) const {
  if (mode == Mode::all) return true;
  if (mode == Mode::none) return false;
  return mode == Mode::last ? index + 1 == count : (index + 1) % period == 0;
}

Ticks Host::prepared(std::int64_t microBatches) const {
  return loaderStart + Ticks(static_cast<std::int64_t>(
                           std::ceil(static_cast<double>(microBatches) * ticksPerMicroBatch())));
}

}  // namespace pipescope::clock
