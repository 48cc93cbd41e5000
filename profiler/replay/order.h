#pragma once
// The order of tasks of an iteration, as a value. The schedules of the engine make it; this folder only
// replays it.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profiler/base/result.h"
#include "profiler/model/enums.h"

namespace pipescope::replay {

/// What a stage does for a micro-batch. A backward task contains what it recomputes. It also contains the
/// weight gradients, unless the order makes them tasks of their own.
enum class TaskKind : std::uint8_t { forward = 0, backward = 1, weight = 2 };
inline constexpr int kTaskKinds = 3;

struct ReplayTask {
  int stage = 0, microBatch = 0;
  int slot = -1;  ///< pipeline cycle; −1 if the schedule has no cycles
  TaskKind kind = TaskKind::forward;
  /// The task belongs to the same block as the task before it. A block starts when the inputs of all its
  /// tasks are there, and its results leave when its last task ends.
  bool joined = false;
  friend bool operator==(const ReplayTask&, const ReplayTask&) = default;
};

struct ReplayOrder {
  model::ScheduleKind progression = model::ScheduleKind::dependency;
  bool serialUpdate = false;   ///< one device updates after another, once all have drained
  bool splitBackward = false;  ///< weight gradients are tasks of their own
  int pipes = 1;               ///< independent ways through the devices; stages are numbered pipe by pipe
  int slots = 0;               ///< pipeline cycles; 0 if there are none
  std::vector<std::vector<ReplayTask>> devices;  ///< tasks by device of a replica, in order
  std::vector<std::int64_t> stashEntries;        ///< by stage; empty: not known
};

/// What a schedule needs to know to make an order.
struct OrderRequest {
  std::string schedule;
  int stages = 1, microBatches = 1;
  bool training = true;
  std::vector<int> deviceOfStage;
};

/// The schedules that the engine has. Programs pass them in, because the profiler knows no schedule.
struct Schedules {
  std::vector<std::string> names;  ///< those that users may choose
  /// Errors: an unknown name, or a rule of the schedule that the request breaks.
  std::function<base::Result<ReplayOrder>(const OrderRequest&)> make;
};

}  // namespace pipescope::replay
