#pragma once
// A sweep that several instances share: each emulates its part of the combinations and gets the others' rows.
#include "app/run/sweep/processes.h"
#include "engine/numerics/instances.h"

namespace pipescope::app {

/// The share of one instance: every n-th task, so that neighbours, which cost alike, are divided evenly.
std::vector<std::int64_t> shareOf(const std::vector<std::int64_t>& tasks, int instance, int instances);

/// Runs this instance's share of the tasks in child processes. About once a second, all instances exchange
/// the answers that came meanwhile, so `take` gets the answers of all tasks, and an instance that dies loses
/// no more than its last second. Every instance calls it with the same tasks. If one is cancelled or `take`
/// fails, all stop.
base::Status runShared(const std::vector<std::int64_t>& tasks, int processes, const ProcessTask& task,
                       const ProcessAnswer& take, const base::Progress& progress,
                       const numerics::Instances& instances);

}  // namespace pipescope::app
