#pragma once
// Statistics of a range of a trace that another tool recorded.
#include <vector>

#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

/// One row for each recorded device, by the same rules as the sections count, whether the trace is far or
/// not.
Result<std::vector<RangeStatistics>> recordedStatistics(const model::ProfileSource& source,
                                                        const Catalog& catalog, const Trace& trace,
                                                        Ticks from, Ticks to, base::Progress& progress);

}  // namespace pipescope::analysis
