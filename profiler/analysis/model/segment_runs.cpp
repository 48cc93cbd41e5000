#include "profiler/analysis/model/segment_runs.h"

#include <algorithm>
#include <set>

#include "profiler/analysis/rows_of_run.h"

namespace pipescope::analysis {

std::int64_t passRuns(const model::Executable* executable, model::Pass pass) {
  const bool once = pass == model::Pass::update || pass == model::Pass::collective;
  return once || executable == nullptr ? 1 : std::max<std::int64_t>(1, executable->microBatches);
}

Result<SegmentRuns> segmentRuns(const model::ProfileSource& source, const Catalog& catalog,
                                model::ExecutableId executable) {
  SegmentRuns runs;
  std::set<std::int32_t> iterations;
  if (const model::Run* run = catalog.lastRunOf(executable)) {
    PIPESCOPE_TRY(forEachRowOfRun<model::Placement>(source, *run, [&](const model::Placement& row) {
      ++runs.times[row.segment];
      if (row.iteration >= 0) iterations.insert(row.iteration);
    }));
  }
  runs.iterations = std::max<std::int64_t>(1, static_cast<std::int64_t>(iterations.size()));
  if (!runs.times.empty()) return runs;
  const model::Executable* known = catalog.executable(executable);
  for (const model::Segment& segment : catalog.segments) {
    if (segment.executable == executable) runs.times[segment.id] = passRuns(known, segment.pass);
  }
  return runs;
}

}  // namespace pipescope::analysis
