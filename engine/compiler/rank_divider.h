#pragma once
// Makes the graph of one of the ranks that share a model: one division after the other, along each axis of
// the mesh within a place.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/compile/sharding/graph_division.h"
#include "engine/compiler/model_request.h"

namespace pipescope::compile {

class RankDivider {
 public:
  explicit RankDivider(const RankRequest& ranks) : ranks_(ranks) {}

  /// The graph of one rank. Errors: what divideGraph() refuses, ranks that divide nothing.
  base::Result<graph::Graph> divide(graph::Graph forward);

  /// Weights that are divided among experts, of all graphs so far.
  const std::set<std::string>& expertWeights() const { return expertWeights_; }
  /// Sentences on what does not divide.
  std::vector<std::string> notices() const;

 private:
  base::Result<graph::Graph> amongTensorRanks(graph::Graph forward);
  base::Result<graph::Graph> amongExperts(graph::Graph forward);
  void noteWholeWeights(const graph::Graph& graph, const GraphDivision& division);

  const RankRequest& ranks_;
  std::map<std::int64_t, std::int64_t> padded_;  ///< sizes of vocabularies
  std::string whole_;                            ///< a sentence on weights that no rank shares
  std::set<std::string> expertWeights_;
};

}  // namespace pipescope::compile
