#pragma once
#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::graph {

/// Checks what every reader of a graph relies on: names are unique and not empty, extents are not negative,
/// sizes fit, every node reads only what stands before it (so there are no cycles), forward never reads
/// backward, an activation has a producer, loss is a scalar, and a gradient has its parameter's type. The
/// error names node and tensor. Shapes against operators are checked by ops::checkShapes.
base::Status validate(const Graph& graph);

}  // namespace pipescope::graph
