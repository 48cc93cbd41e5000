#include "views/pages/parts/trace/pipeline_gaps.h"

#include <QCoreApplication>
#include <algorithm>

#include "profiler/analysis/timeline/trace.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {

base::Result<PassMarks> readMarks(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                  model::ExecutableId executable, const analysis::PipelineGrid& grid,
                                  base::Progress& progress) {
  constexpr std::int64_t kMostRows = 60'000, kMostSteps = 60'000;
  PassMarks marks{std::make_shared<const geometry::PipelineMarks>(), nullptr};
  if (grid.cells.empty()) return marks;
  analysis::TraceRequest request;
  request.executable = executable;
  request.firstRun = request.lastRun = grid.run;
  request.mostRows = kMostRows;
  request.mostSteps = kMostSteps;
  PIPESCOPE_ASSIGN(const auto trace, analysis::loadTrace(source, catalog, request, progress));
  marks.gaps = std::make_shared<const geometry::PipelineMarks>(geometry::pipelineMarks(grid, *trace));
  auto exchanges = geometry::passExchanges(grid, *trace);
  if (std::ranges::any_of(exchanges, [](const auto& row) { return !row.empty(); }))
    marks.exchanges = std::make_shared<const geometry::PipelineMarks>(std::move(exchanges));
  return marks;
}

QStringList markInWords(const geometry::PipelineMark& mark, const geometry::TimeScale& scale) {
  const QString name = text(mark.name);
  return {mark.isWait ? QCoreApplication::translate("Pipeline", "waits: %1").arg(name) : name,
          text(formatDuration(mark.end - mark.start, scale))};
}

}  // namespace pipescope::pages
