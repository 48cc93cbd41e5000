#pragma once
#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::graph {

/// Checks the rules that every reader of a graph relies on. Names are unique and not empty. Extents are not
/// negative and sizes fit. Every node reads only tensors that exist before it, so there are no cycles.
/// Forward nodes never read backward ones. An activation has a producer, the loss is a scalar, and a gradient
/// has the type of its parameter. The error names the node and the tensor. ops::checkShapes checks shapes
/// against operators.
base::Status validate(const Graph& graph);

}  // namespace pipescope::graph
