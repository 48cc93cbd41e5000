#pragma once
// Tries out combinations of options, the most promising ones first, until bounds exclude all others.
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "engine/plan/split_search.h"
#include "profiler/base/executor.h"
#include "profiler/base/progress.h"

namespace pipescope::plan {

/// Bound and estimate of a combination that was not tried out yet.
struct Prospect {
  Value bound;     ///< the combination is not better than this
  Value estimate;  ///< the value that it is expected to have: the order of trials
};

struct BoundedSearch {
  std::vector<std::optional<Value>> values;  ///< one for each combination; none: not tried, or refused
  std::vector<bool> tried;
  std::optional<std::size_t> best;  ///< the first one of the smallest value; none: nothing runs
  std::size_t trials = 0;           ///< combinations that have a value
  /// Combinations that were not tried because their bound says that they lack more memory than the best one,
  /// or need more time.
  std::size_t excludedByMemory = 0, excludedByTime = 0;
  std::size_t left = 0;  ///< combinations that the bounds do not exclude, but that were not tried
  bool stopped = false;  ///< the user ended the search
};

/// Gives the value of a combination, or nothing if it is refused. Several threads call it.
using Trial = std::function<std::optional<Value>(std::size_t)>;

/// Tries combinations in the order of their estimates, several at a time, but none whose bound is worse than
/// the best value so far, and at most `most` that have a value. The result does not depend on the executor.
/// If nothing is left, the best combination is the best of all, as if all of them were tried.
BoundedSearch searchByBounds(const std::vector<Prospect>& prospects, std::size_t most, const Trial& trial,
                             base::Executor& executor, base::Progress& progress);

}  // namespace pipescope::plan
