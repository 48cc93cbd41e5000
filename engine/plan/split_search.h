#pragma once
// Searches the contiguous splits of a row of units for the best one, by values that a caller computes.
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/base/result.h"

namespace pipescope::plan {

/// A split: the first unit of each stage, ascending from 0.
using Cuts = std::vector<std::size_t>;

/// Value by which plans are compared: memory first, then time. Smaller is better.
struct Value {
  std::int64_t missing = 0;  ///< bytes that do not fit
  std::int64_t time = 0;     ///< time in a unit of the caller's
  friend auto operator<=>(const Value&, const Value&) = default;
};

struct SearchSpace {
  std::size_t units = 0, stages = 0;
  std::vector<std::size_t> borders;  ///< units that a stage may begin with, ascending, without 0
  /// Splits that are tried first. The better of equal splits is the one that is tried earlier.
  std::vector<Cuts> starts;
  /// All splits are tried if there are at most so many; otherwise the search climbs from the starts.
  std::int64_t mostInAll = 20'000;
  std::int64_t mostTried = 6'000;  ///< evaluations of a search that climbs
  /// Number of times that a search which climbs starts again near the best split without finding a better
  /// one.
  int kicks = 60;
};

/// The value of a split; none if there can be no such plan.
using Evaluate = std::function<base::Result<std::optional<Value>>(const Cuts&)>;
/// A value that no plan with these cuts is below. It saves evaluations.
using Bound = std::function<Value(const Cuts&)>;

struct Found {
  Cuts cuts;
  Value value;
  std::optional<std::pair<Cuts, Value>> runnerUp;  ///< the best of the other splits that were evaluated
  bool exact = false;                              ///< no split is better
  std::int64_t tried = 0;                          ///< evaluations
};

/// Searches the best split; nullopt if no split is possible. Errors of `evaluate` end the search; so does a
/// cancelled `progress`, with what was found so far.
base::Result<std::optional<Found>> searchSplits(const SearchSpace& space, const Evaluate& evaluate,
                                                const Bound& bound, base::Progress& progress);

/// The number of splits, at most 2⁶².
std::int64_t countSplits(const SearchSpace& space);

}  // namespace pipescope::plan
