#pragma once
// Replaces nodes of a graph by fewer ones if that saves passes over memory.
#include <vector>

#include "engine/graph/graph.h"

namespace pipescope::numerics {

/// Returns the nodes of the graph in order, with new numbers and some of them replaced. Tensors keep their
/// ids; a tensor between combined nodes has no producer any more. Nodes are only combined if no other node
/// reads the tensors between them:
/// - MatMul with a matrix (or with its Transpose) and Add of a vector become a Linear
///   (engine/ops/dense/linear.h);
/// - gradients through such a Transpose become products with the matrix itself (only if all are float32);
/// - a dropout that drops nothing (ratio 0, or no training mode) disappears;
/// - the Sum of the gradients of adjacent slices becomes a GradSplit.
/// Products have the same bits as the nodes that they replace. GradSplit keeps a −0, which a sum with zeros
/// does not.
std::vector<graph::Node> combineNodes(const graph::Graph& graph);

}  // namespace pipescope::numerics
