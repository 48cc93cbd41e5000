#pragma once
// Makes the graph that each rank of a place runs.
#include "engine/compile/sharding/graph_division.h"
#include "engine/ops/core/operator.h"

namespace pipescope::compile {

/// Returns the graph of one rank: divided weights have the extents of a part, and collectives of the mesh
/// (engine/ops/ranks) stand where ranks need each other's results. It is the same for all ranks. Gradients
/// that compile::addGradients adds to it are those of the rank: whole weights get the same gradient on all
/// ranks, divided ones that of their part. Initial values of divided weights are not taken over, because
/// numerics runs the undivided graph.
base::Result<graph::Graph> graphOfRank(const graph::Graph& forward, const GraphDivision& division,
                                       const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
