#pragma once
// Functions that the passes over a graph share. These passes run after the gradients were added: merging two
// forward nodes earlier would add up their gradients in another order, so that the last bits of losses would
// change.
#include <map>
#include <set>
#include <vector>

#include "engine/compile/passes/pass.h"

namespace pipescope::compile {

/// Changes to a graph, in the ids of that graph.
struct GraphEdit {
  std::set<graph::NodeId> dropped;
  std::map<graph::TensorId, graph::TensorId> replaced;          ///< tensor → equal tensor that replaces it
  std::map<graph::TensorId, std::vector<std::byte>> constants;  ///< results whose values are now known
};

/// Returns the graph with the changes. Constants that nothing reads any more are removed.
graph::Graph applied(const graph::Graph& source, const GraphEdit& edit);

/// The results that must keep their names, because they leave the graph or because something other than a
/// node reads them.
base::IdVector<graph::TensorId, bool> resultsOf(const graph::Graph& graph);

/// True if the node gives the same bits under any name and in any run. Nodes with random numbers or with
/// graphs inside do not.
base::Result<bool> isDeterministic(const graph::Graph& graph, const graph::Node& node,
                                   const PassContext& context);

/// The bytes of a constant whose value never changes. Null for other tensors, and for the loss scale, which
/// changes with each update.
const std::vector<std::byte>* fixedValue(const graph::Graph& graph, graph::TensorId id);

/// A removed node as an IR operator, to measure what it would have cost.
base::Status addRemoved(PassEffect& effect, const graph::Graph& graph, const graph::Node& node,
                        const PassContext& context);

}  // namespace pipescope::compile
