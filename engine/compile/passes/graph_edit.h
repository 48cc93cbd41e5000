#pragma once
// What the passes over a graph share. They act on graphs that have their gradients: merging two forward nodes
// before would add up their gradients in another order, and losses would differ in their last bits.
#include <map>
#include <set>
#include <vector>

#include "engine/compile/passes/pass.h"

namespace pipescope::compile {

/// Nodes and tensors are those of the graph that is edited.
struct GraphEdit {
  std::set<graph::NodeId> dropped;
  std::map<graph::TensorId, graph::TensorId> replaced;          ///< by an equal tensor
  std::map<graph::TensorId, std::vector<std::byte>> constants;  ///< results whose values are known now
};

/// The graph with the edit carried out. Constants that nobody reads any more are left out.
graph::Graph applied(const graph::Graph& source, const GraphEdit& edit);

/// What leaves the graph, or others than nodes read: results that stay under their names.
std::set<graph::TensorId> resultsOf(const graph::Graph& graph);

/// Whether the node gives the same bits under every name, in every run: no random numbers, no graphs within.
base::Result<bool> isDeterministic(const graph::Graph& graph, const graph::Node& node,
                                   const PassContext& context);

/// The bytes of a constant whose value never changes; null for others, the loss scale among them.
const std::vector<std::byte>* fixedValue(const graph::Graph& graph, graph::TensorId id);

/// A node that is no longer there, as what it would have cost.
base::Status addRemoved(PassEffect& effect, const graph::Graph& graph, const graph::Node& node,
                        const PassContext& context);

}  // namespace pipescope::compile
