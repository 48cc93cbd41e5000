#pragma once
// Checks whether this machine has enough memory for a run's tensors before the run allocates them.
#include <cstdint>

#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Bytes that this process may allocate: the machine's memory, or the limit of ulimit -v if that is lower.
std::int64_t hostMemory();

/// Gives an error if the weights do not fit, which in training include a gradient for each weight, or if one
/// micro-batch's results do not fit.
base::Status checkHostMemory(const graph::Graph& graph, std::int64_t arenaBytes);

}  // namespace pipescope::app
