#pragma once
// Receives what a run of the clock tells: everything that happens, in the order in which each place does
// it.
#include "profiler/clock/call.h"

namespace pipescope::clock {

/// The stage, micro-batch, iteration and slot that some work belongs to.
struct WorkOf {
  int stage = -1, microBatch = -1, iteration = -1, slot = -1;
};

struct Wait {
  int replica = 0, place = 0;
  int stage = -1;  ///< the first stage of the place
  WorkOf work;
  Ticks start, end;
  model::WaitCause cause = model::WaitCause::fill;
  model::PlacementId waitedFor;  ///< placement; not valid for the host
  int waitedForReplica = -1, waitedForPlace = -1;
};

/// Replicas are named by their index in Call::replicas.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual model::PlacementId placed(int replica, int place, const Piece& piece, Ticks start,
                                    const WorkOf& work) = 0;
  /// `flow` is an index into ReplicaCosts::flows, `from` the placement that made the bytes.
  virtual void transferred(int replica, int flow, Ticks start, Ticks end, model::PlacementId from,
                           const WorkOf& work) = 0;
  virtual void waited(const Wait& wait) = 0;
  /// The next work of the place began before its last waits ended, as only measured passes can.
  virtual void waitedLess(int /*replica*/, int /*place*/, Ticks /*until*/) {}

  // Events for those who count what a place holds.
  virtual void forwardStarts(int /*replica*/, int /*place*/, const Task&, Ticks /*now*/) {}
  virtual void taskEnds(int /*replica*/, int /*place*/, const Task&, Ticks /*now*/) {}
  virtual void flushEnds(int /*replica*/) {}

  /// Offers a good moment to write what has gathered. The clock calls it now and then.
  virtual void pause() {}
};

}  // namespace pipescope::clock
