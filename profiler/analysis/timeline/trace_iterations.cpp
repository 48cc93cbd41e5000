#include <algorithm>

#include "profiler/analysis/pipeline/recorded/accelerator_times.h"
#include "profiler/analysis/timeline/trace_draft.h"

namespace pipescope::analysis {
namespace {

class IterationFinder {
 public:
  explicit IterationFinder(TraceDraft& draft) : draft_(draft) {}

  base::Status find() { return findIterations(); }

 private:
  void add(model::RunId run, std::int32_t iteration, std::int32_t replica, Ticks start, Ticks end,
           std::int64_t count = 1) {
    // The clocks of recorded replicas may have nothing in common. The step time is that of the first one.
    if (bounded_ && replica != 0) return;
    ends_.add(run, iteration, end, count);
    if (bounded_) ends_.addStart(run, iteration, start);
  }

  base::Status findIterations() {
    if (draft_.request.large) {
      draft_.trace->iterations = draft_.request.large->iterations;
      return {};
    }
    for (const DeviceTrace& device : draft_.trace->devices) {
      for (const TraceTrack& track : device.tracks) {
        for (const TracePlacement& p : track.placements) add(p.run, p.iteration, p.replica, p.start, p.end);
      }
    }
    if (draft_.trace->far) {
      PIPESCOPE_TRY(readFarIterations());
    }
    draft_.trace->iterations = ends_.spansOf(draft_.trace->runs);
    return takeMarkedSteps();
  }

  /// Takes the training steps that the host marks, where no stages are known: passes that are known without
  /// stages, such as weight updates, are only a part of a step.
  base::Status takeMarkedSteps() {
    Trace& trace = *draft_.trace;
    if (!draft_.catalog.measured() || trace.runs.size() != 1 ||
        !draft_.catalog.stagesOf(draft_.request.executable).empty())
      return {};
    PIPESCOPE_ASSIGN(const AcceleratorReport report, acceleratorReport(draft_.source, draft_.catalog));
    const auto marked = std::ranges::find_if(
        report.devices, [](const AcceleratorTimes& device) { return !device.steps.empty(); });
    if (marked == report.devices.end()) return {};
    trace.stepsMarked = true;
    trace.iterations.clear();
    for (const MarkedStep& step : marked->steps)
      trace.iterations.push_back({trace.runs.front().id, static_cast<std::int32_t>(step.number),
                                  draft_.catalog.toAxis(marked->device, step.start),
                                  draft_.catalog.toAxis(marked->device, step.end), 1});
    return {};
  }

  /// Finds the iterations from the directory. It reads a block only if one iteration follows another within
  /// it.
  base::Status readFarIterations() {
    constexpr std::size_t kRun = 5, kReplica = 6, kIteration = 11, kMostRead = 64;
    std::size_t read = 0;
    PIPESCOPE_ASSIGN(const std::vector<model::BlockInfo> blocks, draft_.source.blocks<model::Placement>());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (!draft_.inWindow(blocks[i])) continue;
      PIPESCOPE_ASSIGN(const std::vector<model::ColumnRange> ranges,
                       draft_.source.ranges<model::Placement>(i));
      const auto& run = ranges[kRun];
      const auto& iteration = ranges[kIteration];
      const auto& replica = ranges[kReplica];
      const bool oneReplica = !bounded_ || (replica.known && replica.smallest == replica.largest);
      if (oneReplica && run.known && iteration.known && run.smallest == run.largest &&
          iteration.smallest == iteration.largest) {
        if (draft_.wanted.count(model::RunId(run.smallest)) > 0)
          add(model::RunId(run.smallest), static_cast<std::int32_t>(iteration.smallest),
              replica.known ? static_cast<std::int32_t>(replica.smallest) : 0, blocks[i].start, blocks[i].end,
              blocks[i].rows);
      } else if (read++ < kMostRead) {
        PIPESCOPE_TRY(draft_.report(0.9, i, blocks.size(), "reading steps of the run"));
        PIPESCOPE_ASSIGN(const model::Rows<model::Placement> rows, draft_.source.block<model::Placement>(i));
        for (const model::Placement& row : *rows) {
          const DeviceTrace* device = draft_.deviceOf(row.device);
          if (device != nullptr && draft_.wanted.count(row.run) > 0)
            add(row.run, row.iteration, row.replica, draft_.toAxis(*device, row.start),
                draft_.toAxis(*device, row.end));
        }
      }
    }
    return {};
  }

  TraceDraft& draft_;
  const bool bounded_ = !draft_.catalog.iterationsFillCalls();
  IterationEnds ends_;
};

}  // namespace

base::Status findTraceIterations(TraceDraft& draft) {
  return IterationFinder(draft).find();
}

}  // namespace pipescope::analysis
