#pragma once
// Combines chains of rearrangements into single moves, because each node of a chain passes over memory.
#include <vector>

#include "engine/graph/graph.h"

namespace pipescope::numerics {

/// `nodes` compute tensors of the graph. They are in order and numbered from 0, and so is the result. A chain
/// is only combined if no other node reads its intermediate tensors:
/// - at least two Slices or Transposes, with Reshapes among them, become a StridedRead;
/// - a GradSplit with the Transposes and Reshapes of its pieces becomes a StridedWrite
///   (engine/ops/moves/strided_move.h).
std::vector<graph::Node> combineMoves(const graph::Graph& graph, std::vector<graph::Node> nodes);

}  // namespace pipescope::numerics
