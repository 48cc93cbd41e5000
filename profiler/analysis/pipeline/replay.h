#pragma once
// Replays an iteration's order of work with other costs and without exchange, to see how long it would take.
#include <set>
#include <span>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// One micro-batch through one stage: forward, recompute with backward, or weight gradients where they are a
/// pass of their own.
struct ReplayTask {
  enum class Kind { forward, backward, weight };
  int device = 0, stage = 0, microBatch = 0, slot = -1;
  Kind kind = Kind::forward;
};

/// Ticks of a stage's passes; weight only where weight gradients are a pass of their own.
struct StagePassTicks {
  double forward = 0, backward = 0, weight = 0;
};

class Replay {
 public:
  /// Takes the tasks of one iteration, in each device's order, from its compute placements. `pipeStarts` are
  /// the stages besides stage 0 that receive no data from the stage before them.
  Replay(std::span<const model::Placement> iteration, int stages, model::ScheduleKind kind,
         std::set<int> pipeStarts = {});

  /// Time from the first forward's start to the last backward's end. With a barrier, each pipeline cycle
  /// takes as long as its slowest device. Otherwise a task starts when its device is free and its input is
  /// there. 0 when the order cannot be replayed.
  double makespan(const std::vector<StagePassTicks>& costs) const;
  const std::vector<ReplayTask>& tasks() const { return tasks_; }

 private:
  void addTasks(const std::vector<const model::Placement*>& placements);
  double bySlots(const std::vector<StagePassTicks>& costs) const;
  double byDependencies(const std::vector<StagePassTicks>& costs) const;
  /// Index of the awaited task in a table of end times; −1: the task waits for nothing.
  std::int64_t input(const ReplayTask& task) const;
  std::int64_t place(ReplayTask::Kind kind, int stage, int microBatch) const;

  std::vector<ReplayTask> tasks_;  ///< sorted by device, then by start
  int stages_ = 0, microBatches_ = 0;
  model::ScheduleKind kind_;
  bool training_ = false;
  std::set<int> pipeStarts_;
};

}  // namespace pipescope::analysis
