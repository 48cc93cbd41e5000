#pragma once
// What the trace page reads, for workers: the whole (from afar where it is long), one window in detail, sums.
#include <memory>
#include <vector>

#include "profiler/analysis/timeline/trace.h"
#include "profiler/geometry/timeline_model.h"

namespace pipescope::pages {

using TimelineModelPointer = std::shared_ptr<const geometry::TimelineModel>;
using CounterSeriesPointer = std::shared_ptr<const std::vector<analysis::CounterSeries>>;

/// With counters and, where they were recorded, tiles.
base::Result<TimelineModelPointer> loadTimeline(const model::ProfileSource& source,
                                                const analysis::Catalog& catalog,
                                                analysis::TraceRequest request, base::Progress& progress);
/// Of a request with a window. Counters are the whole's.
base::Result<TimelineModelPointer> loadTimelineWindow(const model::ProfileSource& source,
                                                      const analysis::Catalog& catalog,
                                                      analysis::TraceRequest request,
                                                      CounterSeriesPointer counters,
                                                      base::Progress& progress);
/// Sums over a stretch, of what is held row by row or, from afar, of what has to be read again.
base::Result<std::vector<analysis::RangeStatistics>> loadStatistics(const model::ProfileSource& source,
                                                                    const analysis::Trace& trace,
                                                                    base::Ticks from, base::Ticks to,
                                                                    base::Progress& progress);

}  // namespace pipescope::pages
