#pragma once
// Runs the clock: computes when everything in a call starts and ends. Nothing else in the project computes
// the times of a step.
#include <vector>

#include "profiler/base/result.h"
#include "profiler/clock/contention.h"
#include "profiler/clock/place_clocks.h"

namespace pipescope::clock {

/// The progress of the host. It works on the next step while the devices compute, at most one step
/// ahead, unless it needs the results of each step before it goes on (Host::readsResults).
struct HostState {
  bool started = false;
  Ticks lastStart;  ///< time at which the devices began the step that it issued last
};

struct RunOptions {
  Ticks start;  ///< time at which the host calls
  /// The sources, by replica, that say how long flows take that share links; null, or fewer entries than
  /// replicas: flows take the times that they state.
  std::vector<Contention*> contention = {};
  Sink* sink = nullptr;  ///< null: only times are wanted
  HostState hostState = {};
};

struct CallTimes {
  Ticks end;                         ///< end of the last place
  std::vector<Ticks> iterationEnds;  ///< time at which the weight update of each iteration ended
  ComputeSpan computed;              ///< span of the first replica
  HostState hostState;               ///< state for the next call
};

/// Runs a call. Fails if the order waits for itself.
base::Result<CallTimes> runCall(const Call& call, const Host& host, const RunOptions& options);

/// Sets the lags of the call so that everything starts when it did in the recording. Afterwards runCall gives
/// the recorded times. Gives each micro-batch a work of its own. Error: the order waits for itself.
base::Result<CallTimes> learnLags(Call& call, const Host& host, const RecordedStarts& starts, Ticks start);

}  // namespace pipescope::clock
