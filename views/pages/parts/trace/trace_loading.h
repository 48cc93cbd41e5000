#pragma once
// Reads the content of the trace page on workers: the whole trace (a summary if it is long), a part in
// detail, and statistics.
#include <functional>
#include <memory>
#include <vector>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/geometry/timeline/timeline_model.h"

namespace pipescope::pages {

using TimelineModelPointer = std::shared_ptr<const geometry::TimelineModel>;
using CounterSeriesPointer = std::shared_ptr<const std::vector<analysis::CounterSeries>>;

/// Reads a trace with its counters, and its tiles if these were recorded. A trace that is only read in
/// summary may have many counters: it goes to `first` without them before they are read.
base::Result<TimelineModelPointer> loadTimeline(
    const model::ProfileSource& source, const analysis::Catalog& catalog, analysis::TraceRequest request,
    base::Progress& progress, const std::function<void(TimelineModelPointer trace)>& first = {});
/// Reads the part that a request with a window asks for. The counters are those of the whole trace.
base::Result<TimelineModelPointer> loadTimelineWindow(const model::ProfileSource& source,
                                                      const analysis::Catalog& catalog,
                                                      analysis::TraceRequest request,
                                                      CounterSeriesPointer counters,
                                                      base::Progress& progress);
/// Computes the statistics of [from, to). Rows are read again if the trace holds only a summary, or if
/// another tool recorded it.
base::Result<std::vector<analysis::RangeStatistics>> loadStatistics(const model::ProfileSource& source,
                                                                    const analysis::Catalog& catalog,
                                                                    const analysis::Trace& trace,
                                                                    base::Ticks from, base::Ticks to,
                                                                    base::Progress& progress);

}  // namespace pipescope::pages
