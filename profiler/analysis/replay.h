#pragma once
// What an iteration would have taken with other costs: its order of work, replayed without exchange.
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// One micro-batch through one stage: forward, or recompute with backward.
struct ReplayTask {
  int device = 0, stage = 0, microBatch = 0, slot = -1;
  bool forward = true;
};

/// Ticks of a stage's two directions.
struct StageCost {
  double forward = 0, backward = 0;
};

class Replay {
 public:
  /// The tasks of one iteration in each device's order, from its compute placements.
  Replay(const std::vector<model::Placement>& iteration, int stages, bool oneAtATime);

  /// Makespan from the first forward to the last backward. With slots: the sum of the slowest devices;
  /// without: each task starts when its device is free and its neighbour's task is done. 0 where the order
  /// cannot be replayed.
  double makespan(const std::vector<StageCost>& costs) const;
  const std::vector<ReplayTask>& tasks() const { return tasks_; }
  bool hasSlots() const { return hasSlots_; }

 private:
  double bySlots(const std::vector<StageCost>& costs) const;
  double byDependencies(const std::vector<StageCost>& costs) const;
  std::vector<ReplayTask> tasks_;  ///< by device, then in time
  int stages_ = 0;
  bool oneAtATime_ = false, hasSlots_ = false;
};

}  // namespace pipescope::analysis
