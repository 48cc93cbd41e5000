#pragma once
// Divides a row of units among stages so that no place has much more to do than the others. The result is
// exact for the costs that are given.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pipescope::plan {

/// A stage is a stretch of neighbouring units. It costs what its units cost and what it exchanges with its
/// neighbours. All costs are in one unit of time.
struct SplitProblem {
  std::vector<std::int64_t> cost;   ///< cost of each unit
  std::vector<std::int64_t> again;  ///< cost of each unit that is added in a stage that recomputes
  std::vector<bool> works;          ///< true for a unit that works; each stage needs at least one
  std::vector<bool> mayCut;         ///< true for a unit with which a stage may begin
  /// [s][u]: the exchange between stages s − 1 and s if stage s begins with unit u. Both stages pay it.
  std::vector<std::vector<std::int64_t>> exchange;
  std::vector<bool> recomputes;  ///< one for each stage; there are as many stages as entries
  /// Costs that are added to each stage whatever its units are. They may be below 0, but the cost of a stage
  /// is not.
  std::vector<std::int64_t> fixed;
  /// Sets of units, ascending, whose stages must lie at one place, because they share a parameter.
  std::vector<std::vector<std::size_t>> together;
  /// Place of each stage. If this is empty, each stage lies at a place of its own, or with an earlier stage
  /// if `together` demands it.
  std::vector<int> placeOfStage;
  /// Returns true if a stage may hold the units first … end − 1. An empty function allows all.
  std::function<bool(std::size_t stage, std::size_t first, std::size_t end)> fits = {};

  std::size_t units() const { return cost.size(); }
  std::size_t stages() const { return recomputes.size(); }
};

struct StageSplit {
  std::vector<std::size_t> first;       ///< first unit of each stage
  std::vector<int> placeOfStage;        ///< place of each stage
  std::vector<std::int64_t> stageCost;  ///< cost of each stage
  /// The largest load: of a place, or of a stage if SplitProblem::placeOfStage is given.
  std::int64_t largest = 0;
};

/// The split with the smallest largest load. Among several of them it is the one whose stages have the
/// smallest sum of squared costs, so that the other stages are near equal too. None: no split obeys the
/// rules.
std::optional<StageSplit> splitContiguously(const SplitProblem& problem);

/// True if there is a split whose largest load is at most `largest`.
bool canSplitWithin(const SplitProblem& problem, std::int64_t largest);

/// The places of stages that begin with these units: SplitProblem::placeOfStage, or one for each stage that
/// shares no set of SplitProblem::together with an earlier one.
std::vector<int> placesOfSplit(const SplitProblem& problem, const std::vector<std::size_t>& first);

}  // namespace pipescope::plan
