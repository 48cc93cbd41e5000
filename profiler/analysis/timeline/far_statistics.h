#pragma once
// What each device did in a stretch of a trace that is too long to be held row by row.
#include <vector>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

/// As rangeStatistics, with these differences: a placement that the stretch cuts counts by its share of it;
/// lanes that work side by side each count; transfers count by their bytes only, so that a device which only
/// waits for them is idle. Cost: the blocks of placements and transfers that meet [from, to), in ticks of the
/// axis, and of the steps of what was placed; nothing is kept.
Result<std::vector<RangeStatistics>> farStatistics(const model::ProfileSource& source, const Trace& trace,
                                                   Ticks from, Ticks to, base::Progress& progress);

}  // namespace pipescope::analysis
