#pragma once
// A recorded call as values: the times of all work and transfers, and the order of tasks. The clock computes
// from it how long the call takes; changes of a what-if are changes of these values.
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/clock/run.h"
#include "profiler/clock/timeline.h"
#include "profiler/replay/order.h"

namespace pipescope::replay {

using base::Bytes;
using base::Ticks;

using clock::Flow;
using clock::OverlappedPiece;
using clock::Piece;
using clock::Pieces;
using clock::ReplicaCosts;
using clock::StageCosts;
using clock::StageWork;
using clock::TiedPiece;

/// A call of the clock, with what identifies it.
struct Recording : clock::Call {
  model::Executable executable;
  model::Run run;
  std::int64_t ticksPerSecond = 1;
  model::TickMeaning tickMeaning = model::TickMeaning::clockCycle;
  clock::Host host;
  double hostTicksPerMicroBatch = 0;  ///< part of the host's work for a step that each micro-batch adds
  Ticks tail;                         ///< time from the end of the last device to the end of the call
  Ticks outside;                      ///< time of the call before and behind its iterations
  Ticks syncTicks;                    ///< time of the external sync, also if the recorded schedule needs none
  bool explained = true;  ///< false if the rules do not explain an emulated call, so that there are lags
  std::vector<model::Stage> stages;  ///< stages of the first replica, by index
};

/// The end of a sentence about what a recording does not tell: how to emulate it instead, with these flags of
/// pipescope run. A run on real hardware has no configuration that could be emulated.
std::string emulateInstead(const Recording& recording, const std::string& flags);

/// Reads the executable's last call. `schedules` may be null for imported traces, whose order is the recorded
/// one. The replay of the result reproduces the recorded call to the tick: what its rules do not explain
/// becomes lags. Errors say why a recording cannot be replayed.
base::Result<Recording> readRecording(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                      model::ExecutableId executable, const Schedules* schedules);

/// A replayed call. The rows stay empty if only its length is wanted.
struct Timeline : clock::Timeline {
  Ticks start, end;
  Ticks length() const { return end - start; }
};
enum class Detail { length, rows };
/// Runs the clock for the recording. Error: the order waits for itself.
base::Result<Timeline> replayCall(const Recording& recording, Detail detail = Detail::rows);

}  // namespace pipescope::replay
