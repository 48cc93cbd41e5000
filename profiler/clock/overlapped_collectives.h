#pragma once
// Collectives beside the last backward passes of an iteration that share links with transfers or with
// collectives in passes. While they run, each slows the others down.
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "profiler/clock/running_replica.h"

namespace pipescope::clock {

/// A place has one lane for them. Each begins when all replicas have its gradients and the one before it has
/// ended, and it ends in all replicas at the same time.
class OverlappedCollectives {
 public:
  OverlappedCollectives(const Call& call, RunningReplicas& replicas);
  /// True if any of them share links, so that their times depend on what else runs.
  static bool areThereIn(const Call& call);

  void begin() { delays_.clear(), ready_.clear(); }
  /// A replica has the gradients for collective `index` of the stage.
  void ready(int stage, std::size_t index, Ticks now);
  /// A replica has done its part of the collective that runs at the place.
  void partEnds(int place, Ticks now);
  /// Starts those that are ready at places that run none, once all events of this time are known.
  void start(Ticks now);
  /// Time by which others made the collective longer in this iteration.
  Ticks delay(int stage, std::size_t index) const;

 private:
  struct Running {
    int stage = 0;
    std::size_t index = 0;
    Ticks start;
    std::size_t parts = 0;  ///< replicas that have not done theirs
  };
  struct Lane {
    std::set<std::tuple<Ticks, int, std::size_t>> waiting;  ///< time since when, stage, index
    std::optional<Running> running;
  };
  const OverlappedPiece& pieceOf(const RunningReplica& replica, int stage, std::size_t index) const {
    return replica.clocks.costs().stages[static_cast<std::size_t>(stage)].overlapped[index];
  }

  const Call& call_;
  RunningReplicas& replicas_;
  std::vector<Lane> lanes_;                                   ///< by place
  std::map<std::pair<int, std::size_t>, std::size_t> ready_;  ///< replicas that have the gradients
  std::map<std::pair<int, std::size_t>, Ticks> delays_;
};

}  // namespace pipescope::clock
