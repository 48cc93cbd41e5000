#pragma once
// Finds attention in a forward graph: two products, with a softmax over keys between them.
#include <cstdint>
#include <map>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"

namespace pipescope::compile {

/// A half-open range of a list.
struct ListRange {
  std::size_t first = 0, end = 0;
};

/// One attention: its nodes and what they read besides queries, keys and values.
struct FoundAttention {
  std::vector<graph::NodeId> nodes;  ///< nodes from the product that makes scores to the one that uses them
  std::vector<graph::TensorId> others;
  std::vector<std::int64_t> functions;
  /// A query sees its own position and those before it. A constant mask hides the others, whose node adds
  /// these parts of `others` and `functions`.
  bool causal = false;
  ListRange maskInputs, maskFunctions;
  graph::ElementType inner{};
  bool draws = false, softmax = false;
};

/// Every attention over `leastKeys` keys or more, keyed by its last node. It is one over a whole sequence: at
/// least as many queries as keys, or those of a rank that gathers the keys of all positions. Between its
/// products there are only elementwise operators (scale, mask, cast, dropout) and one softmax. Attention
/// whose scores somebody else reads, or of which a mask is trained, is not found.
std::map<graph::NodeId, FoundAttention> findAttention(const graph::Graph& forward, std::int64_t leastKeys,
                                                      const ops::OperatorRegistry& registry);

}  // namespace pipescope::compile
