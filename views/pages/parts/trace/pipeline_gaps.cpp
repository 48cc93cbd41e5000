#include "views/pages/parts/trace/pipeline_gaps.h"

#include <QCoreApplication>

#include "profiler/analysis/timeline/trace.h"
#include "views/pages/parts/data/text.h"

namespace pipescope::pages {

base::Result<MarksPointer> readMarks(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                     model::ExecutableId executable, const analysis::PipelineGrid& grid,
                                     base::Progress& progress) {
  constexpr std::int64_t kMostRows = 60'000, kMostSteps = 60'000;
  if (grid.cells.empty()) return std::make_shared<const geometry::PipelineMarks>();
  analysis::TraceRequest request;
  request.executable = executable;
  request.firstRun = request.lastRun = grid.run;
  request.mostRows = kMostRows;
  request.mostSteps = kMostSteps;
  PIPESCOPE_ASSIGN(const auto trace, analysis::loadTrace(source, catalog, request, progress));
  return std::make_shared<const geometry::PipelineMarks>(geometry::pipelineMarks(grid, *trace));
}

QStringList markInWords(const geometry::PipelineMark& mark, const geometry::TimeScale& scale) {
  const QString name = text(mark.name);
  return {mark.isWait ? QCoreApplication::translate("Pipeline", "waits: %1").arg(name) : name,
          text(formatDuration(mark.end - mark.start, scale))};
}

}  // namespace pipescope::pages
