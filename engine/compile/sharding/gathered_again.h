#pragma once
// The backward part of sequence parallelism, which keeps parts of rows and gathers them again.
#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Returns a graph with gradients in which the backward pass gathers again what ranks of the axis `tensor`
/// gathered in the forward pass, so that each rank keeps its part of the rows only. (arXiv 2205.05198,
/// §4.2.2.)
base::Result<graph::Graph> gatherAgain(const graph::Graph& trained, const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
