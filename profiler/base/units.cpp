#include "profiler/base/units.h"

#include <cmath>

namespace pipescope::base {

Ticks convertRoundUp(Ticks ticks, Timebase from, Timebase to) {
  if (from == to) return ticks;
  __extension__ using Wide = __int128;
  const Wide product = static_cast<Wide>(ticks.count) * to.ticksPerSecond;
  Wide quotient = product / from.ticksPerSecond;
  if (product % from.ticksPerSecond > 0) ++quotient;
  return Ticks(static_cast<std::int64_t>(quotient));
}

Ticks ticksFromSeconds(double seconds, Timebase base) {
  return Ticks(
      static_cast<std::int64_t>(std::ceil(seconds * static_cast<double>(base.ticksPerSecond) - 1e-9)));
}

}  // namespace pipescope::base
