#pragma once
// The best contiguous plan for layers with given costs.
#include <optional>

#include "engine/plan/cost_problem.h"
#include "profiler/base/progress.h"

namespace pipescope::plan {

struct CostPlan {
  std::vector<StageCost> stages;
  Value value;               ///< CostModel::value of the plan
  std::int64_t largest = 0;  ///< ns of the longest stage
  bool exact = true;         ///< no plan is better
  std::int64_t tried = 0;    ///< plans that were emulated; 0 without micro-batches
  /// The best of the other plans that were emulated; none without micro-batches.
  std::optional<Value> runnerUp;
  Value equalLayers;      ///< the value if each stage has equally many layers, or one more
  compile::FixedRun run;  ///< run of the plan
  Cuts cuts;
};

/// Without micro-batches the plan has the smallest longest stage, of all plans that fit; among several such
/// plans the one with the smallest sum of squared times. With micro-batches the plan has the shortest weight
/// update as emulated. If nothing fits, the fullest device lacks as little as possible. Errors: those of
/// costProblem and of the schedule.
base::Result<CostPlan> planCosts(const LayerProfile& profile, const CostRequest& request,
                                 base::Progress& progress);

}  // namespace pipescope::plan
