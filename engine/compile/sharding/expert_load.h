#pragma once
// Load of the experts of a mixture: how many tokens choose each of them. It depends on values, so it is
// stated.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Relative loads. Even unless one of the fields says otherwise.
struct ExpertLoad {
  double zipf = 0;              ///< expert i has the load 1 ÷ (i + 1)^zipf
  std::vector<double> weights;  ///< one for each expert
  /// Like `weights`, for each layer with experts, in the order of the model.
  std::vector<std::vector<double>> layers = {};
  /// True as long as the loads are to be counted by routing real samples, and this has not happened yet.
  bool routed = false;

  bool isEven() const { return zipf == 0 && weights.empty() && layers.empty() && !routed; }
  /// Shares of so many experts of a layer, which add up to 1. Errors: another number of weights or layers, or
  /// loads that nobody has counted.
  base::Result<std::vector<double>> shares(std::int64_t experts, std::size_t layer = 0) const;
};

/// Counts the layers with experts that come before the layer of `dispatch`, a node ExpertDispatch.
std::size_t expertLayerOf(const graph::Graph& graph, const graph::Node& dispatch);

/// "uniform", "routed", "zipf 1.2", a number for each expert, or several such lists with semicolons between
/// them, one for each layer. Errors: anything else, or loads that are not positive in sum.
base::Result<ExpertLoad> parseExpertLoad(const std::string& text);
std::string toString(const ExpertLoad& load);

/// Loads of the ranks among which the experts are divided, as neighbours.
struct RankLoads {
  std::vector<double> rows;  ///< that each rank gets
  std::size_t hottest = 0;   ///< the first rank with the most rows
  double imbalance = 1;      ///< most rows ÷ mean; ranks · largest sum of shares if no row is dropped
};
/// Loads of ranks that each send `rows` rows. `capacity`: most rows that a rank sends to an expert; 0: any.
RankLoads loadsOf(const std::vector<double>& shares, std::int64_t ranks, std::int64_t rows,
                  std::int64_t capacity);

}  // namespace pipescope::compile
