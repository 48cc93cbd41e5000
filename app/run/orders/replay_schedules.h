#pragma once
// Gives the schedules of the engine to the replay, which takes orders as values.
#include "profiler/replay/order.h"

namespace pipescope::app {

/// All schedules of the engine; users may choose those that are pipelined.
replay::Schedules replaySchedules();

}  // namespace pipescope::app
