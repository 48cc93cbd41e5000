#pragma once
// Recomputation: forward nodes run again before a stage's backward pass, so that fewer results must be kept.
#include <string>
#include <vector>

#include "engine/compile/placement.h"
#include "engine/ops/core/operator.h"

namespace pipescope::compile {

/// Patterns (* and ?) of node names whose results are kept instead of computed again.
using Checkpoints = std::vector<std::string>;

/// Adds nodes of pass `recompute`, called "<node>/recompute", to a graph with gradients. They compute forward
/// results again from the stage's inputs and checkpoints, and the backward nodes read these results.
/// `stashes` marks the stages that keep several micro-batches: these recompute everything that their backward
/// pass needs. Other stages (the loss stage of a pipeline) only recompute what lies before their last
/// checkpoint. The computed bits stay the same. Refused: a checkpoint that matches no forward node.
base::Result<graph::Graph> withRecompute(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                         const std::vector<bool>& stashes, const Checkpoints& checkpoints);

}  // namespace pipescope::compile
