#pragma once
// Nodes of a graph as a program computes them: some of them together, where that saves passes over memory.
#include <vector>

#include "engine/graph/graph.h"

namespace pipescope::numerics {

/// The graph's nodes in order, numbered anew, some replaced; tensors keep their ids, those between combined
/// nodes have no producer any more. Only where nobody else reads what lies between:
/// - MatMul of a matrix (or of its Transpose) and Add of a vector → Linear (engine/ops/dense/linear.h);
/// - gradients through such a Transpose → products with the matrix itself, all of them of float32 only;
/// - dropout that drops nothing (a ratio of 0, no training mode) → nothing;
/// - the Sum of slices' gradients that lie side by side → GradSplit.
/// Products give the same bits as the nodes that they replace; GradSplit keeps a −0, which a sum with zeros
/// does not.
std::vector<graph::Node> combineNodes(const graph::Graph& graph);

}  // namespace pipescope::numerics
