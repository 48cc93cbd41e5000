#pragma once
// The order that a schedule prescribes, laid over the order that was recorded.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/replay/order.h"

namespace pipescope::replay {

/// One pass of a micro-batch. Recompute belongs to the backward pass.
struct PlannedTask {
  int stage = 0, microBatch = 0;
  model::Pass pass = model::Pass::forward;  ///< forward, backward or weightGradient
  friend bool operator==(const PlannedTask&, const PlannedTask&) = default;
};

/// Source of the tasks of a plan.
struct PlannedOrder {
  std::string name;  ///< a schedule, or a file; empty: the schedule that fits best
  /// All tasks of an iteration, if the plan is a file. Each device does those of its stages, in this order.
  std::vector<PlannedTask> tasks;
};

/// Reads a list of passes: a line for each, "stage,pass,micro_batch", such as "0,forward,3". Empty lines, a
/// heading of these words and what follows a # are left out. Errors name the file and the line.
base::Result<PlannedOrder> parsePlan(std::string_view text, const std::string& file);

/// First point at which a device leaves the plan.
struct Divergence {
  int iteration = 0;
  std::size_t position = 0;  ///< position among the device's passes of the iteration, from 0
  std::optional<PlannedTask> planned, recorded;  ///< none: the plan, or the recording, has ended
  base::Ticks time;                              ///< start of the recorded pass, or end of the one before
};

struct DeviceComparison {
  model::DeviceId device;
  int replica = 0;
  int iterations = 0, followed = 0;      ///< followed: iterations in the order of the plan
  std::int64_t passes = 0, atPlace = 0;  ///< recorded passes; those at the position that the plan gives them
  std::optional<Divergence> first;
};

struct PlanComparison {
  std::string name;     ///< name of the plan
  bool chosen = false;  ///< the plan was not named; it fits best
  std::vector<DeviceComparison> devices;
  int earliest = -1;  ///< index of the device that leaves the plan first; −1: none does
  std::int64_t passes = 0, atPlace = 0;
};

/// Compares the executable's last run with a plan. Errors: an unknown schedule, a rule of the schedule that
/// the stages or micro-batches break, a run without stages or micro-batches, and a plan without a task of one
/// of the stages.
base::Result<PlanComparison> comparePlan(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                         model::ExecutableId executable, const PlannedOrder& plan,
                                         const Schedules* schedules);

}  // namespace pipescope::replay
