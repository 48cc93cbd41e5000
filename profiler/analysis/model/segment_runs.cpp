#include "profiler/analysis/model/segment_runs.h"

#include <algorithm>
#include <set>

#include "profiler/analysis/rows_of_run.h"

namespace pipescope::analysis {

std::int64_t passRuns(const Catalog& catalog, model::ExecutableId executable, model::Pass pass) {
  const bool once = pass == model::Pass::update || pass == model::Pass::collective;
  return once ? 1 : std::max<std::int64_t>(1, catalog.microBatchesOfStage(executable));
}

namespace {

/// Counts placements. A call can have millions of them, so neighbours that are alike cost no search.
class PlacementCounter {
 public:
  explicit PlacementCounter(SegmentRuns& runs) : runs_(runs) {}

  void add(model::SegmentId segment, std::int64_t iteration) {
    if (last_ == nullptr || segment != lastSegment_) {
      lastSegment_ = segment;
      last_ = &runs_.times[segment];
    }
    ++*last_;
    if (iteration == lastIteration_) return;
    lastIteration_ = iteration;
    if (iteration >= 0) iterations_.insert(iteration);
  }
  std::size_t iterations() const { return iterations_.size(); }

 private:
  SegmentRuns& runs_;
  model::SegmentId lastSegment_;
  std::int64_t* last_ = nullptr;
  std::int64_t lastIteration_ = -1;
  std::set<std::int64_t> iterations_;
};

base::Status countPlacements(const model::ProfileSource& source, const model::Run& run,
                             PlacementCounter& counter) {
  if (!source.storesColumns()) {
    return forEachRowOfRun<model::Placement>(
        source, run, [&](const model::Placement& row) { counter.add(row.segment, row.iteration); });
  }
  static const std::size_t kSegment = columnOf<model::Placement>("segment"),
                           kRun = columnOf<model::Placement>("run"),
                           kIteration = columnOf<model::Placement>("iteration");
  PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source.blocks<model::Placement>());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    // Reading a damaged block, which has no rows, gives the error.
    if (blocks[b].rows > 0 && !mayMeet(blocks[b], run.start, run.end)) continue;
    PIPESCOPE_ASSIGN(const std::shared_ptr<const model::ColumnBlock> block,
                     source.columns<model::Placement>(b));
    const model::IntegerColumn &segments = block->columns[kSegment], &runs = block->columns[kRun],
                               &iterations = block->columns[kIteration];
    for (std::size_t i = 0; i < block->rows; ++i)
      if (runs[i] == run.id.value) counter.add(model::SegmentId(segments[i]), iterations[i]);
  }
  return {};
}

}  // namespace

Result<SegmentRuns> segmentRuns(const model::ProfileSource& source, const Catalog& catalog,
                                model::ExecutableId executable) {
  SegmentRuns runs;
  PlacementCounter counter(runs);
  if (const model::Run* run = catalog.lastRunOf(executable))
    PIPESCOPE_TRY(countPlacements(source, *run, counter));
  runs.iterations = std::max<std::int64_t>(1, static_cast<std::int64_t>(counter.iterations()));
  if (!runs.times.empty()) return runs;
  for (const model::Segment& segment : catalog.segments) {
    if (segment.executable == executable)
      runs.times[segment.id] = passRuns(catalog, executable, segment.pass);
  }
  return runs;
}

}  // namespace pipescope::analysis
