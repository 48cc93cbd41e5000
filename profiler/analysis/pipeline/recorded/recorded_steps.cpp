#include "profiler/analysis/pipeline/recorded/recorded_steps.h"

#include <algorithm>

#include "profiler/analysis/steps_of_segments.h"

namespace pipescope::analysis {
namespace {

/// Counts the steps of one accelerator or host whose passes nobody recognised, some segments at a time.
class RecordedReader {
 public:
  RecordedReader(const model::ProfileSource& source, const Catalog& catalog, RecordedWork& work,
                 base::Progress& progress)
      : source_(source), catalog_(catalog), work_(work), progress_(progress) {}

  base::Status read(DeviceSums& device) {
    const auto [start, end] = device.bounds();
    const std::vector<DeviceSums::RecordedSegment> all = device.recordedSegments();
    const bool divides = device.mayDivideRecorded();
    PIPESCOPE_ASSIGN(const std::size_t atOnce, segmentsAtOnce());
    std::vector<DeviceSums::RecordedSegment> active;
    Ticks from = start;
    for (std::size_t next = 0; next < all.size() || !active.empty();) {
      const std::size_t count = divides ? std::min(atOnce, all.size() - next) : all.size();
      active.insert(active.end(), all.begin() + static_cast<std::ptrdiff_t>(next),
                    all.begin() + static_cast<std::ptrdiff_t>(next + count));
      next += count;
      const Ticks to = next < all.size() ? std::max(from, all[next].start) : end;
      PIPESCOPE_TRY(add(device, active, from, to));
      if (divides) device.foldRecorded();
      std::erase_if(active, [to](const DeviceSums::RecordedSegment& segment) { return segment.end <= to; });
      from = to;
    }
    return {};
  }

 private:
  /// Returns the number of segments that hold about kStepsAtOnce steps. Segments of many threads are short,
  /// and each time that steps are read takes as long as the blocks that the segments share.
  base::Result<std::size_t> segmentsAtOnce() const {
    constexpr std::size_t kStepsAtOnce = 1 << 18, kFewest = 64;
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, source_.blocks<model::Step>());
    if (blocks.empty()) return kFewest;
    const auto steps = static_cast<std::size_t>(blocks.back().firstRow + blocks.back().rows);
    const std::size_t each =
        std::max<std::size_t>(1, steps / std::max<std::size_t>(1, catalog_.segments.size()));
    return std::max(kFewest, kStepsAtOnce / each);
  }

  /// Adds what the segments do from `from` until `to`.
  base::Status add(DeviceSums& device, const std::vector<DeviceSums::RecordedSegment>& segments, Ticks from,
                   Ticks to) {
    struct Wanted {
      const DeviceSums::RecordedSegment* segment;
      bool hasSteps = false;
    };
    std::map<model::SegmentId, Wanted> wanted;
    for (const DeviceSums::RecordedSegment& segment : segments) wanted[segment.segment] = {&segment};
    std::vector<DeviceSums::RecordedStep> steps = device.hostPasses(from, to, catalog_);
    const auto add = [&](const DeviceSums::RecordedSegment& segment, Ticks start, Ticks end,
                         model::StepKind kind) {
      steps.push_back({std::max(start, from), std::min(end, to), kind, catalog_.roleOf(segment.lane)});
    };
    PIPESCOPE_TRY(forEachStepOf(source_, wanted, progress_, [&](const model::Step& step, Wanted& of) {
      of.hasSteps = true;
      if (!of.segment->host && !work_.counts(step)) return;
      const Ticks start = of.segment->start + step.offset;
      add(*of.segment, start, start + step.ticks, step.kind);
    }));
    // A segment without steps is one piece of work.
    for (const auto& [id, of] : wanted)
      if (!of.hasSteps) add(*of.segment, of.segment->start, of.segment->end, kindOfPass(model::Pass::other));
    device.addRecorded(std::move(steps));
    return {};
  }

  const model::ProfileSource& source_;
  const Catalog& catalog_;
  RecordedWork& work_;
  base::Progress& progress_;
};

}  // namespace

base::Status addRecordedSteps(const model::ProfileSource& source, const Catalog& catalog, RecordedWork& work,
                              DeviceSums& device, base::Progress& progress) {
  return RecordedReader(source, catalog, work, progress).read(device);
}

}  // namespace pipescope::analysis
