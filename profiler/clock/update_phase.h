#pragma once
// The phase after a flush: sums of gradients over replicas and over places that have copies of a weight, then
// weight updates. Replicas wait for each other here and nowhere else.
#include <set>
#include <vector>

#include "profiler/clock/overlapped_collectives.h"

namespace pipescope::clock {

class UpdatePhase {
 public:
  UpdatePhase(const Call& call, RunningReplicas& replicas) : call_(call), replicas_(replicas) {}
  /// `beside` says what delayed collectives beside the backward passes; null: nothing did, or the call says
  /// it.
  void run(int iteration, const OverlappedCollectives* beside);

 private:
  /// Lets each place wait for the place that holds the same stages and also has gradients to add (DualPipe).
  void meetMirrored(int iteration);
  /// Lets these places of all replicas wait for the one that is done last.
  void meet(const std::vector<int>& places, int iteration);
  /// Runs the sums over places, in the order of their numbers.
  void sumTied(int iteration);
  /// Runs the update of one place in all replicas. Returns false if the place has nothing to update.
  bool updatePlace(int place, int iteration);
  /// A collective that runs beside the backward pass of the last micro-batch.
  struct Overlapped {
    int stage = 0;
    std::size_t index = 0;           ///< index in the list of the stage
    Ticks ready, ticks;              ///< time at which all replicas have its gradients; its length
    Ticks delay;                     ///< see Piece::delay
    RunningReplica* late = nullptr;  ///< the replica whose gradients come last
  };
  /// The collectives of all stages of the place, in the order in which they become ready.
  std::vector<Overlapped> overlappedOf(int place, int iteration) const;
  /// Places these collectives one after another, because a place has one lane for them. Afterwards the place
  /// has waited for the last one.
  void finishOverlapped(int place, int iteration);
  /// Places item `index` of the update of the stage in all replicas. At a collective the replicas wait for
  /// the last of them.
  void workAll(int place, int stage, std::size_t index, int iteration);
  Ticks lagOf(RunningReplica& replica, int place, int stage, std::size_t index, int iteration) const;

  const StageCosts& stageOf(const RunningReplica& replica, int stage) const {
    return replica.clocks.costs().stages[static_cast<std::size_t>(stage)];
  }
  const Pieces& updateOf(const RunningReplica& replica, int stage, int iteration) const;
  bool holds(int place, int stage) const {
    return call_.placeOfStage[static_cast<std::size_t>(stage)] == place;
  }

  const Call& call_;
  RunningReplicas& replicas_;
  const OverlappedCollectives* beside_ = nullptr;
  std::set<int> summed_;  ///< places whose collectives beside the backward pass have ended
};

}  // namespace pipescope::clock
