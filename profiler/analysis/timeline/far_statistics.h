#pragma once
// Work of each device in a range of a trace that is too long to hold row by row.
#include <vector>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

/// Computes rangeStatistics for [from, to), in ticks of the axis, but a placement that the range cuts counts
/// by its share within the range. Reads the blocks of placements, transfers and steps in the range, and keeps
/// about `rowsAtOnce` rows at a time.
Result<std::vector<RangeStatistics>> farStatistics(const model::ProfileSource& source, const Trace& trace,
                                                   Ticks from, Ticks to, base::Progress& progress,
                                                   std::int64_t rowsAtOnce = 1'000'000);

}  // namespace pipescope::analysis
