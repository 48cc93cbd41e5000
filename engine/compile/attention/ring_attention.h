#pragma once
// Attention whose keys and values travel around the ranks of the axis `context` (ring attention, arXiv
// 2310.01889), so that a rank computes with one part of them while it receives the next one.
#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Returns a graph with gradients in which each FusedAttention with the attribute `ranks`, and its gradient,
/// is a ring. In the forward pass each rank starts with its own keys and values, and those of a step go on to
/// the next rank meanwhile. The backward pass goes the same way back, to the rank before: it starts with the
/// keys and values that the rank received last, and their gradients go home with them, so that both passes
/// have ranks − 1 sends. `tests/unit/sharding` executes the result.
/// Graphs without such a node are returned as they are.
base::Result<graph::Graph> expandRings(graph::Graph trained, const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
