#pragma once
// Load of the experts of a mixture: how many tokens choose each of them. It depends on values, so it is
// stated.
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::compile {

/// Relative loads. Even unless one of the fields says otherwise.
struct ExpertLoad {
  double zipf = 0;              ///< expert i has the load 1 ÷ (i + 1)^zipf
  std::vector<double> weights;  ///< one for each expert
  /// Shares of so many experts, which add up to 1. Errors: another number of weights.
  base::Result<std::vector<double>> shares(std::int64_t experts) const;
};

/// "uniform", "zipf 1.2" or a number for each expert. Errors: anything else, or loads that are not positive
/// in sum.
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
