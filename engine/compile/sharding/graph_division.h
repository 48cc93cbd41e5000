#pragma once
// Decides how the ranks of a place share a model: which weights are divided, and what follows for every node.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/compile/sharding/division_rule.h"
#include "engine/graph/graph.h"
#include "profiler/base/result.h"
#include "profiler/model/enums.h"

namespace pipescope::compile {

struct GraphDivision {
  DivisionOptions options;
  std::vector<DividedAxis> tensors;  ///< division of each tensor of the undivided graph, by id
  std::vector<NodeDivision> nodes;   ///< divisions of the nodes, by id
  /// Nodes whose inputs are put together first, because no rule can work on parts of them.
  std::vector<graph::NodeId> gathering;
  /// Whole tensors of which each rank has a part of the gradient; see NodeDivision::forShares.
  std::set<graph::TensorId> forShares;
  DividedAxis of(graph::TensorId id) const { return tensors[static_cast<std::size_t>(id.value)]; }
  const NodeDivision& of(const graph::Node& node) const {
    return nodes[static_cast<std::size_t>(node.id.value)];
  }
};

/// Positions of the samples of a model of tokens: the second extent of its first input of whole numbers by
/// sample and position. 0: it has no such input.
std::int64_t tokenPositions(const graph::Graph& forward);

/// Divides the weights of products in pairs: the first by columns, so that each rank makes a part of the
/// result, and the one at which this part ends by rows, so that each rank has a summand of its result
/// (Megatron-LM, arXiv 1909.08053). The nodes between must be able to work on parts; a weight that has no
/// such partner stays whole. The last product of a model may end at the loss or at an output instead. Tables
/// of embeddings are divided by rows. Errors: a tensor that is too large to be put together for a node that
/// cannot work on parts.
base::Result<GraphDivision> divideGraph(const graph::Graph& forward, const DivisionOptions& options);

}  // namespace pipescope::compile
