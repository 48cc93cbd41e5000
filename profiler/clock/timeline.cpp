#include "profiler/clock/timeline.h"

#include <algorithm>

namespace pipescope::clock {

void Timeline::waitedLess(int replica, int place, Ticks until) {
  while (!waits.empty() && waits.back().replica == replica && waits.back().place == place &&
         waits.back().end > until) {
    waits.back().end = std::max(waits.back().start, until);
    if (waits.back().end > waits.back().start) break;
    waits.pop_back();
  }
}

}  // namespace pipescope::clock
