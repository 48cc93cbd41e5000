#pragma once
// The clocks of the places of one replica, and what moves them: work and waits.
#include "profiler/clock/sink.h"

namespace pipescope::clock {

/// Times at which tasks and pieces of updates started in a recording, by replica.
struct RecordedStarts {
  /// Starts by (Call::indexOf × stages + stage) × kTaskPasses + index of the pass; INT64_MIN: it did not run.
  std::vector<std::vector<Ticks>> tasks;
  /// Starts by iteration × stages + stage: those of the pieces of the update.
  std::vector<std::vector<std::vector<Ticks>>> updates;
};

/// A call whose lags are learned while it runs.
struct Learning {
  Call& call;
  const RecordedStarts& starts;
};

/// The position of a place in time. Up to `free` its time is filled with work or waits.
struct PlaceClock {
  Ticks free;
  model::PlacementId last;  ///< placement that ended last; not valid before the first
  /// The same without loads and stores of streaming memory: the time when results can be sent.
  Ticks ready;
  model::PlacementId readyBy;
  int stage = -1;  ///< first stage of the place; −1: none
};

/// The compute of all places, from the first start to the last end.
struct ComputeSpan {
  Ticks start{INT64_MAX}, end{INT64_MIN};
  Ticks busy;  ///< summed over places
};

class PlaceClocks {
 public:
  /// `sink` is null if the rows are not wanted, `learning` unless lags are learned.
  PlaceClocks(const Call& call, int replica, Ticks now, Sink* sink, Learning* learning);

  PlaceClock& clock(int place) { return clocks_[static_cast<std::size_t>(place)]; }
  const PlaceClock& clock(int place) const { return clocks_[static_cast<std::size_t>(place)]; }
  int places() const { return static_cast<int>(clocks_.size()); }
  int replica() const { return replica_; }
  const ReplicaCosts& costs() const { return costs_; }
  const ComputeSpan& computed() const { return computed_; }
  /// The place that is done last.
  int slowest() const;

  /// Places the piece at the free time of the place.
  void work(int place, const Piece& piece, const WorkOf& work);
  /// Places the piece on a lane of its own, which the clock of the place does not cover. Moves no clock.
  model::PlacementId workBeside(int place, const Piece& piece, Ticks start, const WorkOf& work);
  /// Lets the place wait until `until` for something that place `forPlace` of a replica has done; −1: the
  /// host. Does nothing if its clock is already there.
  void wait(int place, Ticks until, model::WaitCause cause, model::PlacementId waitedFor, int forReplica,
            int forPlace, const WorkOf& work) {
    if (until > clock(place).free) addWait(place, until, cause, waitedFor, forReplica, forPlace, work);
  }
  void wait(int place, Ticks until, model::WaitCause cause, model::PlacementId waitedFor, int forPlace,
            const WorkOf& work) {
    wait(place, until, cause, waitedFor, replica_, forPlace, work);
  }
  /// Lets all places wait for one of them.
  void align(int place, model::WaitCause cause, const WorkOf& work);
  /// Starts the next work of the place later, or earlier, by a lag.
  void lag(int place, Ticks lag, model::WaitCause cause, const WorkOf& work);

  /// Lets the place wait for the collectives of the piece that it has just placed, which are longer by so
  /// much because others used their links; where places share a host, for the host.
  void delay(int place, Ticks delay, const WorkOf& work);

  Sink* sink() const { return sink_; }
  Learning* learning() const { return learning_; }

 private:
  void addWait(int place, Ticks until, model::WaitCause cause, model::PlacementId waitedFor, int forReplica,
               int forPlace, const WorkOf& work);

  int replica_;
  const ReplicaCosts& costs_;
  const bool sharesHost_;
  Sink* sink_;
  Learning* learning_;
  std::vector<PlaceClock> clocks_;
  ComputeSpan computed_;
};

}  // namespace pipescope::clock
