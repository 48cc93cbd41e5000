#include "profiler/analysis/pipeline/placed_steps.h"

#include <algorithm>

#include "profiler/analysis/steps_of_segments.h"

namespace pipescope::analysis {

double PlacedSteps::iterations() const {
  return static_cast<double>(std::max<std::size_t>(rows.iterations.size(), 1));
}

Result<PlacedSteps> placedSteps(const model::ProfileSource& source, const Catalog& catalog,
                                model::ExecutableId executable) {
  PlacedSteps placed;
  PIPESCOPE_ASSIGN(placed.rows, replicaRows(source, catalog, executable));
  for (const model::Placement& p : placed.rows.placements) placed.steps[p.segment];
  base::SilentProgress progress;
  PIPESCOPE_TRY(
      forEachStepOf(source, placed.steps, progress,
                    [](const model::Step& step, std::vector<model::Step>& list) { list.push_back(step); }));
  return placed;
}

}  // namespace pipescope::analysis
