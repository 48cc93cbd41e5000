#pragma once
// Chains of rearrangements, which would each pass over memory, as single moves.
#include <vector>

#include "engine/graph/graph.h"

namespace pipescope::numerics {

/// `nodes` compute tensors of the graph, in order, numbered from 0; so do the result's. Where nobody else
/// reads what lies between:
/// - Slices and Transposes (two at least) with Reshapes among them → StridedRead;
/// - Transposes and Reshapes of the pieces of a GradSplit, and it → StridedWrite
/// (engine/ops/moves/strided_move.h).
std::vector<graph::Node> combineMoves(const graph::Graph& graph, std::vector<graph::Node> nodes);

}  // namespace pipescope::numerics
