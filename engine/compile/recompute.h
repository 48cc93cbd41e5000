#pragma once
// Forward work that runs again before a stage's backward pass, so that less is kept meanwhile.
#include <string>
#include <vector>

#include "engine/compile/placement.h"
#include "engine/ops/core/operator.h"

namespace pipescope::compile {

/// Patterns (* and ?) of node names whose results are kept rather than computed again.
using Checkpoints = std::vector<std::string>;

/// A graph with gradients in which each stage's backward nodes read what nodes of pass `recompute`, called
/// "<node>/recompute", make anew from the stage's inputs and checkpoints. `stashes`: stages that keep several
/// micro-batches. Those recompute all that their backward pass needs; the others (the loss stage of a
/// pipeline) only what lies before their last checkpoint. Computing the graph gives the same bits as before.
/// Refused: a checkpoint that no forward node is called.
base::Result<graph::Graph> withRecompute(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                         const std::vector<bool>& stashes, const Checkpoints& checkpoints);

}  // namespace pipescope::compile
