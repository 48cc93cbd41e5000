#pragma once
// Recomputation: forward nodes run again before a stage's backward pass, so that fewer results must be kept.
#include <set>
#include <string>
#include <vector>

#include "engine/compile/stage_division.h"
#include "engine/ops/core/operator.h"

namespace pipescope::compile {

/// Patterns (* and ?) of node names whose results are kept instead of computed again.
using Checkpoints = std::vector<std::string>;

/// Names of the nodes that make the scores of attention and what becomes of them up to the product with
/// values (selective recomputation: Korthikanti et al., arXiv 2205.05198). Refused: a graph without
/// attention.
base::Result<std::set<std::string>> attentionScores(const graph::Graph& forward,
                                                    const ops::OperatorRegistry& registry);

/// Names of the forward nodes that patterns (block_pattern.h) name. Refused: a pattern that names none; `key`
/// is where it stands.
base::Result<std::set<std::string>> nodesNamed(const graph::Graph& graph,
                                               const std::vector<std::string>& patterns,
                                               const std::string& key);

/// Adds nodes of pass `recompute`, called "<node>/recompute", to a graph with gradients. They compute forward
/// results again from the stage's inputs and checkpoints, and the backward nodes read these results.
///
/// Nodes that a backward node needs are recomputed directly before it, unless they already were. So a segment
/// between two checkpoints is recomputed right before its own backward nodes, which free it. PopART does the
/// same (class FindRequiredRecomputes of willow/src/popx/irlowering.cpp).
///
/// `whole` marks the stages whose backward pass does not follow their forward pass at once: other work of the
/// device lies between. These recompute everything that their backward pass needs. Other stages (the loss
/// stage of a pipeline) only recompute what lies before their last checkpoint. The computed bits stay the
/// same. Refused: a checkpoint that matches no forward node.
base::Result<graph::Graph> withRecompute(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                         const std::vector<bool>& whole, const Checkpoints& checkpoints);
/// The same for the nodes of these names only, in all stages. Everything else is kept.
base::Result<graph::Graph> withRecomputeOf(const graph::Graph& graph, const std::vector<StageSpec>& stages,
                                           const std::set<std::string>& names);

}  // namespace pipescope::compile
