#include "views/pages/parts/trace/trace_loading.h"

#include "profiler/analysis/pipeline/counters.h"
#include "profiler/analysis/timeline/far_statistics.h"
#include "profiler/analysis/timeline/recorded_statistics.h"
#include "profiler/analysis/timeline/tile_times.h"

namespace pipescope::pages {
namespace {

/// A trace with more rows than this is shown in summary first. Then the visible part is read row by row.
constexpr std::int64_t kFirstRows = 60'000, kFirstSteps = 120'000, kWindowRows = 240'000,
                       kWindowSteps = 600'000;
constexpr std::size_t kCounterPoints = 4'000, kTileRuns = 1'000'000;

base::Result<TimelineModelPointer> withTiles(const model::ProfileSource& source,
                                             const analysis::Catalog& catalog,
                                             std::shared_ptr<const analysis::Trace> trace,
                                             CounterSeriesPointer counters, base::Progress& progress) {
  PIPESCOPE_ASSIGN(std::shared_ptr<const analysis::TileTimes> tiles,
                   analysis::tileTimes(source, catalog, *trace, kTileRuns, progress));
  return geometry::TimelineModel::make(std::move(trace), std::move(counters), std::move(tiles));
}

}  // namespace

base::Result<TimelineModelPointer> loadTimeline(
    const model::ProfileSource& source, const analysis::Catalog& catalog, analysis::TraceRequest request,
    base::Progress& progress, const std::function<void(TimelineModelPointer trace)>& first) {
  request.mostRows = kFirstRows;
  request.mostSteps = kFirstSteps;
  PIPESCOPE_ASSIGN(std::shared_ptr<const analysis::Trace> trace,
                   analysis::loadTrace(source, catalog, request, progress));
  if (first && trace->large) first(geometry::TimelineModel::make(trace));
  analysis::CounterRequest counters;
  counters.executable = request.executable;
  counters.firstRun = request.firstRun;
  counters.lastRun = request.lastRun;
  counters.mostPoints = kCounterPoints;
  PIPESCOPE_ASSIGN(std::vector<analysis::CounterSeries> series,
                   analysis::counterSeries(source, catalog, counters, progress));
  return withTiles(source, catalog, std::move(trace),
                   std::make_shared<const std::vector<analysis::CounterSeries>>(std::move(series)), progress);
}

base::Result<TimelineModelPointer> loadTimelineWindow(const model::ProfileSource& source,
                                                      const analysis::Catalog& catalog,
                                                      analysis::TraceRequest request,
                                                      CounterSeriesPointer counters,
                                                      base::Progress& progress) {
  request.mostRows = kWindowRows;
  request.mostSteps = kWindowSteps;
  PIPESCOPE_ASSIGN(std::shared_ptr<const analysis::Trace> trace,
                   analysis::loadTrace(source, catalog, request, progress));
  return withTiles(source, catalog, std::move(trace), std::move(counters), progress);
}

base::Result<std::vector<analysis::RangeStatistics>> loadStatistics(const model::ProfileSource& source,
                                                                    const analysis::Catalog& catalog,
                                                                    const analysis::Trace& trace,
                                                                    base::Ticks from, base::Ticks to,
                                                                    base::Progress& progress) {
  if (catalog.measured()) return analysis::recordedStatistics(source, catalog, trace, from, to, progress);
  if (trace.far || trace.farSteps) return analysis::farStatistics(source, trace, from, to, progress);
  return analysis::rangeStatistics(trace, from, to);
}

}  // namespace pipescope::pages
