#pragma once
// What each device did in a range of a trace that is too long to hold row by row.
#include <vector>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

/// As rangeStatistics for [from, to), in ticks of the axis, with these differences. A placement that the
/// range cuts counts by its share within the range. Transfers count only by their bytes, so a device that
/// waits for them is idle. Reads the blocks of placements, transfers and steps in the range and keeps none of
/// them.
Result<std::vector<RangeStatistics>> farStatistics(const model::ProfileSource& source, const Trace& trace,
                                                   Ticks from, Ticks to, base::Progress& progress);

}  // namespace pipescope::analysis
