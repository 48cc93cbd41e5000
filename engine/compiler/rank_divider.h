#pragma once
// Makes the graph of one of the ranks that share a model: one division after the other, along each axis of
// the mesh within a place.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/compile/sharding/graph_division.h"
#include "engine/compiler/model_request.h"
#include "profiler/model/executable_rows.h"

namespace pipescope::compile {

class RankDivider {
 public:
  explicit RankDivider(const RankRequest& ranks) : ranks_(ranks) {}

  /// The graph of one rank. Errors: what divideGraph() refuses, ranks that share less than half.
  base::Result<graph::Graph> divide(graph::Graph forward);

  /// Weights that are divided among experts, of all graphs so far.
  const std::set<std::string>& expertWeights() const { return expertWeights_; }
  /// Loads of ranks that divide experts, in the most uneven layer; imbalance 0: there are none.
  const RankLoads& expertLoads() const { return expertLoads_; }
  /// Divisions of the last graph: its weights, and the activations that are divided.
  std::vector<model::Division> takeDivisions() { return std::exchange(divisions_, {}); }
  /// Sentences on what does not divide.
  std::vector<std::string> notices() const;
  /// Positions of a sample that ranks along `context` share; 0: there are none.
  std::int64_t contextPositions() const { return contextPositions_; }

 private:
  base::Result<graph::Graph> alongContext(graph::Graph forward);
  base::Result<graph::Graph> amongTensorRanks(graph::Graph forward);
  base::Result<graph::Graph> amongExperts(graph::Graph forward);
  base::Result<graph::Graph> ofRank(const graph::Graph& forward, const GraphDivision& division);
  void noteUndivided(const graph::Graph& ofRank);
  base::Status checkWholeWeights(const graph::Graph& graph, const GraphDivision& division);

  const RankRequest& ranks_;
  std::map<std::int64_t, std::int64_t> padded_;  ///< sizes of vocabularies
  std::string whole_;                            ///< a sentence on weights that no rank shares
  std::set<std::string> expertWeights_;
  RankLoads expertLoads_{.imbalance = 0};
  std::int64_t contextPositions_ = 0;
  std::vector<model::Division> divisions_;
};

}  // namespace pipescope::compile
