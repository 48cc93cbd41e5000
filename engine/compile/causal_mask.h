#pragma once
// Recognises masks that hide later positions from a query.
#include <map>

#include "engine/graph/graph.h"

namespace pipescope::compile {

class CausalMasks {
 public:
  explicit CausalMasks(const graph::Graph& graph) : graph_(graph) {}

  /// True if the node hides the scores of later keys: Where with a constant matrix of booleans, or Add of one
  /// of numbers that are 0 for the keys that a query sees and at most −10,000 for the others. The matrix has
  /// `keys` rows and columns; ranks may have cut its rows.
  bool hidesLater(const graph::Node& node, graph::TensorId scores, std::int64_t keys) const;

 private:
  enum class Mask : std::uint8_t { other, seen, hidden, added };
  Mask kindOf(graph::TensorId mask, std::int64_t keys) const;
  Mask read(graph::TensorId constant, std::int64_t keys) const;
  graph::TensorId constantOf(graph::TensorId tensor) const;

  const graph::Graph& graph_;
  mutable std::map<graph::TensorId, Mask> known_;
};

}  // namespace pipescope::compile
