#pragma once
// Asks the clock how long an iteration would take in its recorded order if every pass of a stage took the
// same time and nothing were exchanged.
#include <span>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/clock/call.h"

namespace pipescope::analysis {

/// Ticks of a stage's passes; weight only if weight gradients are a pass of their own.
struct StagePassTicks {
  double forward = 0, backward = 0, weight = 0;
};

class EvenCosts {
 public:
  /// Takes the tasks of one iteration, in the order of each place, from its compute placements. The stages
  /// form so many pipes.
  EvenCosts(std::span<const model::Placement> iteration, int stages, model::ScheduleKind kind,
            std::int64_t pipes);

  /// Time from the first forward's start to the last backward's end. 0 when the order cannot be run.
  double makespan(const std::vector<StagePassTicks>& costs) const;

 private:
  void addTasks(int place, const std::vector<const model::Placement*>& placements);

  clock::Call call_;  ///< call without costs
};

}  // namespace pipescope::analysis
