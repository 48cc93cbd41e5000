#pragma once
// Runs independent tasks in processes of their own.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Computes the answer for one index. It runs in a child process, whose memory begins as a copy of this
/// process's memory and is kept from task to task.
using ProcessTask = std::function<std::string(std::int64_t index)>;
/// Gets the answer in this process, in the order in which tasks end. The error says how a child ended
/// without an answer; another child takes its place.
using ProcessAnswer = std::function<base::Status(std::int64_t index, base::Result<std::string> answer)>;

/// Runs the tasks in up to `processes` children. The caller must have a single thread. Children ignore
/// Ctrl-C, so that the caller decides, and end with it; once `progress` is cancelled, they are ended and the
/// function returns an error of kind cancelled. An error of `take` ends them, too.
base::Status runInProcesses(const std::vector<std::int64_t>& indices, int processes, const ProcessTask& task,
                            const ProcessAnswer& take, const base::Progress& progress);

}  // namespace pipescope::app
