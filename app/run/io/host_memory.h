#pragma once
// Whether this machine can hold what a run computes, asked before it is allocated.
#include <cstdint>

#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Bytes that this process may take: the machine's memory, or less where a limit is set (ulimit -v).
std::int64_t hostMemory();

/// Refuses weights that do not fit (in training with a gradient for each), and one micro-batch's results that
/// do not.
base::Status checkHostMemory(const graph::Graph& graph, std::int64_t arenaBytes);

}  // namespace pipescope::app
