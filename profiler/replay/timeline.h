#pragma once
// What a replay of a call gives: when everything starts and ends.
#include <cstdint>
#include <vector>

#include "profiler/replay/recording.h"

namespace pipescope::replay {

/// Where some work belongs.
struct PiecePlace {
  int stage = -1, microBatch = -1, iteration = -1, slot = -1;
};

struct PlacedPiece {
  int replica = 0, device = 0;  ///< indices into Recording::replicas and RecordedReplica::devices
  PiecePlace where;
  model::SegmentId segment;
  model::Pass pass = model::Pass::forward;
  Ticks start, end;
};
struct PlacedTransfer {
  int replica = 0, flow = 0;
  PiecePlace where;
  Ticks start, end;
  std::int64_t from = -1;  ///< index of the placement that produced the bytes
};
struct PlacedWait {
  int replica = 0, device = 0, stage = -1;
  PiecePlace where;
  Ticks start, end;
  model::WaitCause cause = model::WaitCause::fill;
  std::int64_t waitedFor = -1;  ///< index of a placement; −1: the host
  int waitedForReplica = -1, waitedForDevice = -1;
};

struct Timeline {
  Ticks start, end;
  // The rows stay empty if only the length of the call is wanted.
  std::vector<PlacedPiece> placements;
  std::vector<PlacedTransfer> transfers;
  std::vector<PlacedWait> waits;
  Ticks length() const { return end - start; }
};

enum class Detail { length, rows };
/// Replays the call. Error: the order waits for itself.
base::Result<Timeline> replayCall(const Recording& recording, Detail detail = Detail::rows);

/// When tasks and pieces of updates started in the recording, by replica.
struct RecordedStarts {
  /// By (Recording::indexOf × stages + stage) × kTaskKinds + kind; INT64_MIN: it did not run.
  std::vector<std::vector<Ticks>> tasks;
  /// By iteration × stages + stage: those of the pieces of the update.
  std::vector<std::vector<std::vector<Ticks>>> updates;
};
/// Sets the lags of the recording so that everything starts when it did.
base::Status setLags(Recording& recording, const RecordedStarts& starts);

}  // namespace pipescope::replay
