#include "engine/plan/step_split.h"

#include <algorithm>

#include "engine/plan/split_search.h"
#include "profiler/base/progress.h"

namespace pipescope::plan {
namespace {

/// True if all units of each set that must stay together lie at one place.
bool keepsTogether(const SplitProblem& problem, const Cuts& cuts) {
  const auto placeOf = [&](std::size_t unit) {
    const auto after = std::ranges::upper_bound(cuts, unit);
    return problem.placeOfStage[static_cast<std::size_t>(after - cuts.begin()) - 1];
  };
  return std::ranges::all_of(problem.together, [&](const std::vector<std::size_t>& set) {
    return std::ranges::all_of(set, [&](std::size_t unit) { return placeOf(unit) == placeOf(set.front()); });
  });
}

const CompiledSplit& shortest(const StageTable& table, const std::vector<CompiledSplit>& compiled) {
  const auto ticksOf = [&](const CompiledSplit& split) {
    const std::optional<Value> value = table.estimate(split.cuts);
    return value ? value->time : INT64_MAX;
  };
  return *std::ranges::min_element(compiled, {}, ticksOf);
}

}  // namespace

CompiledSplit shortestCallOf(const StageSplits& splits, const compile::ModelRequest& request,
                             const std::vector<CompiledSplit>& compiled) {
  StageTable table(splits, request);
  for (const CompiledSplit& split : compiled) table.learnStages(split.cuts, split.ticks);
  return shortest(table, compiled);
}

base::Result<CompiledSplit> splitOfShortestCall(const StageSplits& splits,
                                                const compile::ModelRequest& request,
                                                std::vector<std::size_t> borders,
                                                std::vector<CompiledSplit> compiled,
                                                const CompileCuts& compile) {
  // An estimate takes about a millisecond.
  constexpr std::int64_t kEstimates = 200;
  constexpr int kRounds = 2, kKicks = 4;
  const SplitProblem& problem = splits.problem();
  StageTable table(splits, request);
  for (const CompiledSplit& split : compiled) table.learnStages(split.cuts, split.ticks);
  for (int round = 0; round < kRounds; ++round) {
    SearchSpace space;
    space.units = problem.units();
    space.stages = problem.stages();
    space.borders = borders;
    for (const CompiledSplit& split : compiled) space.starts.push_back(split.cuts);
    space.mostInAll = space.mostTried = kEstimates;
    space.kicks = kKicks;
    const Evaluate evaluate = [&](const Cuts& cuts) -> base::Result<std::optional<Value>> {
      if (!keepsTogether(problem, cuts)) return std::optional<Value>();
      return table.estimate(cuts);
    };
    base::SilentProgress unseen;
    PIPESCOPE_ASSIGN(const std::optional<Found> found,
                     searchSplits(
                         space, evaluate, [&](const Cuts& cuts) { return table.bound(cuts); }, unseen));
    if (!found || std::ranges::find(compiled, found->cuts, &CompiledSplit::cuts) != compiled.end()) break;
    PIPESCOPE_ASSIGN(std::vector<std::int64_t> ticks, compile(found->cuts));
    table.learnStages(found->cuts, ticks);
    compiled.push_back({found->cuts, std::move(ticks)});
  }
  return shortest(table, compiled);
}

}  // namespace pipescope::plan
