#pragma once
// The order of a flush as a value: which place works on which micro-batch of which stage, in which sequence.
// Schedules make it, recordings bring their own, and the clock gives it times.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/model/enums.h"

namespace pipescope::clock {

/// One micro-batch in one stage. A backward task includes its recompute. It also includes the weight
/// gradients, unless the order makes them tasks of their own.
struct Task {
  int stage = 0, microBatch = 0;
  int slot = -1;                            ///< pipeline cycle; −1 if the schedule has no cycles
  model::Pass pass = model::Pass::forward;  ///< forward, backward or weightGradient
  /// The task belongs to the same block as the task before it. A block starts when the inputs of all its
  /// tasks are there, and its results leave when its last task ends.
  bool joined = false;
  friend bool operator==(const Task&, const Task&) = default;
};

/// Number of passes that a task may have, and the index of such a pass.
inline constexpr std::size_t kTaskPasses = 3;
constexpr std::size_t taskPassIndex(model::Pass pass) {
  if (pass == model::Pass::forward) return 0;
  return pass == model::Pass::weightGradient ? 2 : 1;
}
/// The pass of the task that work of this pass belongs to: a backward task recomputes.
constexpr model::Pass taskPassOf(model::Pass pass) {
  if (pass == model::Pass::weightGradient) return pass;
  const bool backward = pass == model::Pass::backward || pass == model::Pass::recompute;
  return backward ? model::Pass::backward : model::Pass::forward;
}

struct Order {
  model::ScheduleKind progression = model::ScheduleKind::dependency;
  /// One place updates its weights after another, once all have drained, and the next flush starts after the
  /// last one. Otherwise each place updates after its own last backward pass.
  bool serialUpdate = false;
  /// Weight gradients are tasks of their own; backward tasks make input gradients only.
  bool splitBackward = false;
  /// Number of independent ways through the places. Stages are numbered pipe by pipe, and each pipe has the
  /// same number of stages. A micro-batch goes through one pipe, and data flows only between neighbours of
  /// that pipe.
  int pipes = 1;
  int slots = 0;                          ///< pipeline cycles of a flush; 0 if the schedule has none
  std::vector<std::vector<Task>> places;  ///< tasks by place, in order
  /// Number of micro-batches, by stage, that the stash between its forward pass and its backward (or
  /// weight-gradient) pass must hold. It is 0 if there is never more than one, because then nothing is
  /// stashed. Empty: not known.
  std::vector<std::int64_t> stashEntries;
  /// The same for tensors that the backward pass leaves to the weight-gradient pass.
  std::vector<std::int64_t> weightEntries;
};

}  // namespace pipescope::clock
