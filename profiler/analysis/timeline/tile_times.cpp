#include "profiler/analysis/timeline/tile_times.h"

#include <limits>
#include <map>
#include <tuple>

#include "profiler/analysis/timeline/step_blocks.h"

namespace pipescope::analysis {
namespace {

/// Identifies a step within its segment. The index of a step does not, because the trace has sorted the
/// steps.
using StepKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

std::map<StepKey, std::size_t> placesOf(const TraceSegment& segment) {
  std::map<StepKey, std::size_t> places;
  for (std::size_t i = 0; i < segment.steps.size(); ++i) {
    const model::Step& step = segment.steps[i];
    places.emplace(StepKey(step.offset.count, step.ticks.count, step.lane.value, step.program.value), i);
  }
  return places;
}

std::int64_t unitsOf(const Catalog& catalog, model::SegmentId id) {
  const model::Segment* segment = catalog.segments.find(id);
  const model::Device* device = segment == nullptr ? nullptr : catalog.device(segment->device);
  return device == nullptr ? 0 : device->units;
}

}  // namespace

Result<std::shared_ptr<const TileTimes>> tileTimes(const model::ProfileSource& source, const Catalog& catalog,
                                                   const Trace& trace, std::size_t mostRuns,
                                                   base::Progress& progress) {
  auto times = std::make_shared<TileTimes>();
  PIPESCOPE_ASSIGN(times->recorded, hasUnitSteps(source));
  times->steps.resize(trace.segments.size());
  if (!times->recorded) return std::shared_ptr<const TileTimes>(std::move(times));
  PIPESCOPE_ASSIGN(const StepBlocks blocks, StepBlocks::make(source));
  PIPESCOPE_ASSIGN(UnitReader units, UnitReader::make(source));
  StepReader reader(blocks, source, progress);
  std::size_t taken = 0;
  for (std::size_t s = 0; s < trace.segments.size(); ++s) {
    const TraceSegment& segment = trace.segments[s];
    times->steps[s].resize(segment.steps.size());
    if (segment.steps.empty() || !times->complete) continue;
    const std::map<StepKey, std::size_t> places = placesOf(segment);
    const std::int64_t count = unitsOf(catalog, segment.id);
    base::Status status;
    PIPESCOPE_TRY(reader.forEach(
        segment.id, Ticks(0), Ticks(std::numeric_limits<std::int64_t>::max()), [&](const StepFacts& step) {
          const auto place =
              places.find(StepKey(step.offset.count, step.ticks.count, step.lane.value, step.program.value));
          if (place == places.end() || !status.ok() || !times->complete) return;
          auto runs = units.of(step.row, step.ticks, count);
          if (!runs.ok()) {
            status = runs.error();
            return;
          }
          taken += runs->size();
          times->complete = taken <= mostRuns;
          if (times->complete) times->steps[s][place->second] = std::move(runs).value();
        }));
    PIPESCOPE_TRY(status);
  }
  return std::shared_ptr<const TileTimes>(std::move(times));
}

}  // namespace pipescope::analysis
