#pragma once
// Work of single units (tiles) in the steps of a trace's segments, if the profile records it. It is stored
// once for each segment, however often the segment is placed.
#include <memory>
#include <vector>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/analysis/timeline/unit_steps.h"

namespace pipescope::analysis {

struct TileTimes {
  bool recorded = false;  ///< true if the profile has times of single units
  /// Units of each step: [index into Trace::segments][index into TraceSegment::steps]. Empty if nothing was
  /// recorded or the limit was reached.
  std::vector<std::vector<std::vector<UnitTicks>>> steps;
  bool complete = true;  ///< false if the limit was reached
};

/// Reads the times of the units in the trace's steps, at most `mostRuns` runs of units.
Result<std::shared_ptr<const TileTimes>> tileTimes(const model::ProfileSource& source, const Catalog& catalog,
                                                   const Trace& trace, std::size_t mostRuns,
                                                   base::Progress& progress);

}  // namespace pipescope::analysis
