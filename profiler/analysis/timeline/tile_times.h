#pragma once
// What single units (tiles) do in the steps of a trace's segments, where it was recorded: once per segment,
// however often that is placed.
#include <memory>
#include <vector>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/analysis/timeline/unit_steps.h"

namespace pipescope::analysis {

struct TileTimes {
  bool recorded = false;  ///< the profile has times of single units at all
  /// Units of each step: [index into Trace::segments][index into TraceSegment::steps]. Empty where nothing
  /// was recorded or no room was left.
  std::vector<std::vector<std::vector<UnitRun>>> steps;
  bool complete = true;  ///< false: there is more than was asked for
};

/// Reads what belongs to steps that the trace holds, at most `mostRuns` runs of units.
Result<std::shared_ptr<const TileTimes>> tileTimes(const model::ProfileSource& source, const Catalog& catalog,
                                                   const Trace& trace, std::size_t mostRuns,
                                                   base::Progress& progress);

}  // namespace pipescope::analysis
