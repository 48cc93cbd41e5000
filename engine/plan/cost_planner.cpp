#include "engine/plan/cost_planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/contiguous_split.h"

namespace pipescope::plan {
namespace {

Cuts equalCuts(std::size_t layers, std::size_t stages) {
  Cuts cuts;
  for (std::size_t s = 0; s < stages; ++s) cuts.push_back(s * layers / stages);
  return cuts;
}

class CostPlanner {
 public:
  CostPlanner(const CostModel& model, base::Progress& progress)
      : model_(model), problem_(model.problem()), progress_(progress) {
    stages_ = static_cast<std::size_t>(problem_.request.stages);
  }

  base::Result<CostPlan> plan() {
    CostPlan plan;
    plan.equalLayers = model_.value(equalCuts(problem_.layers(), stages_));
    if (problem_.request.microBatches == 0) {
      plan.cuts = balanced({}, leastMissing());
      plan.value = model_.value(plan.cuts);
    } else {
      PIPESCOPE_TRY(search(plan));
    }
    plan.stages = model_.stages(plan.cuts);
    for (const StageCost& stage : plan.stages) plan.largest = std::max(plan.largest, stage.time());
    plan.run = model_.run(plan.cuts);
    return plan;
  }

 private:
  base::Status search(CostPlan& plan) {
    SearchSpace space;
    space.units = problem_.layers();
    space.stages = stages_;
    for (std::size_t u = 1; u < space.units; ++u) space.borders.push_back(u);
    addStarts(space.starts);
    const Evaluate evaluate = [&](const Cuts& cuts) -> base::Result<std::optional<Value>> {
      return std::optional(model_.value(cuts));
    };
    PIPESCOPE_ASSIGN(const std::optional<Found> found,
                     searchSplits(
                         space, evaluate, [&](const Cuts& cuts) { return model_.bound(cuts); }, progress_));
    if (progress_.cancelled()) return base::cancelled("Stopped before the search was complete.");
    PIPESCOPE_CHECK(found.has_value(), "there are at least as many layers as stages");
    plan.cuts = found->cuts;
    plan.value = found->value;
    plan.exact = found->exact;
    plan.tried = found->tried;
    if (found->runnerUp) plan.runnerUp = found->runnerUp->second;
    return {};
  }

  /// Balanced plans, also ones that make the stages at one end shorter: with few micro-batches it matters
  /// where the longest stage is.
  void addStarts(std::vector<Cuts>& starts) const {
    const std::int64_t missing = leastMissing();
    starts.push_back(balanced({}, missing));
    std::int64_t mean = 0;
    for (const StageCost& stage : model_.stages(starts.front())) mean += stage.time();
    mean /= static_cast<std::int64_t>(stages_);
    for (const std::size_t at : {std::size_t{0}, stages_ - 1}) {
      for (const std::int64_t share : {8, 3}) {
        std::vector<std::int64_t> fixed(stages_, 0);
        fixed[at] = mean / share;
        starts.push_back(balanced(fixed, missing));
      }
    }
    starts.push_back(equalCuts(problem_.layers(), stages_));
  }

  /// Bytes that the fullest stage lacks if the stages are cut so that it lacks as little as possible.
  std::int64_t leastMissing() const {
    if (problem_.request.memory <= 0) return 0;
    const std::size_t layers = problem_.layers();
    std::vector<std::int64_t> most(layers + 1, INT64_MAX);
    most[0] = 0;
    for (std::size_t s = 0; s < stages_; ++s) {
      std::vector<std::int64_t> next(layers + 1, INT64_MAX);
      for (std::size_t end = s + 1; end <= layers; ++end) {
        for (std::size_t first = end; first-- > s;) {
          const std::int64_t own = missingIn(s, first, end);
          next[end] = std::min(next[end], std::max(most[first], own));
          if (own >= next[end]) break;  // longer stages lack no less
        }
      }
      most = std::move(next);
    }
    return most[layers];
  }
  std::int64_t missingIn(std::size_t stage, std::size_t first, std::size_t end) const {
    return std::max<std::int64_t>(0, model_.stage(stage, first, end).memory() - problem_.request.memory);
  }

  /// The plan with the smallest longest stage, if `fixed` is added to the stages. No stage lacks more than
  /// `missing`.
  Cuts balanced(const std::vector<std::int64_t>& fixed, std::int64_t missing) const {
    const std::size_t layers = problem_.layers();
    SplitProblem split;
    for (std::size_t u = 0; u < layers; ++u) split.cost.push_back(problem_.forward[u] + problem_.backward[u]);
    split.again.assign(layers, 0);
    split.works.assign(layers, true);
    split.mayCut.assign(layers, true);
    split.recomputes.assign(stages_, false);
    split.fixed = fixed.empty() ? std::vector<std::int64_t>(stages_, 0) : fixed;
    std::vector<std::int64_t> exchange(layers, 0);
    for (std::size_t u = 1; u < layers; ++u) exchange[u] = model_.copies(u);
    split.exchange.assign(stages_, exchange);
    if (problem_.request.memory > 0) {
      split.fits = [&](std::size_t stage, std::size_t first, std::size_t end) {
        return missingIn(stage, first, end) <= missing;
      };
    }
    const std::optional<StageSplit> found = splitContiguously(split);
    PIPESCOPE_CHECK(found.has_value(), "a split that lacks no more than the least that is missing exists");
    return found->first;
  }

  const CostModel& model_;
  const CostProblem& problem_;
  base::Progress& progress_;
  std::size_t stages_ = 1;
};

}  // namespace

base::Result<CostPlan> planCosts(const LayerProfile& profile, const CostRequest& request,
                                 base::Progress& progress) {
  PIPESCOPE_ASSIGN(const CostProblem problem, costProblem(profile, request));
  PIPESCOPE_ASSIGN(const CostModel model, CostModel::make(problem));
  return CostPlanner(model, progress).plan();
}

}  // namespace pipescope::plan
