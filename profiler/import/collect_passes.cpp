#include "profiler/import/collect_passes.h"

#include "profiler/import/slice_lanes.h"

namespace pipescope::importing {

bool isPass(const Meaning& meaning) {
  return meaning.pass && !meaning.sends && (meaning.stage || meaning.pass == model::Pass::update);
}

base::Result<std::vector<RecordedPass>> collectPasses(TraceData& trace, const Rules& rules) {
  RuleMatcher matcher(rules, trace.tables);
  std::vector<RecordedPass> passes;
  std::vector<RecordedStep> steps;
  Findings unused;  // The visit that writes the rows finds the same.
  const auto take = [&](const Slice& slice, const TraceEvent& event) -> base::Status {
    const Meaning& meaning = matcher.meaningOf(event);
    const model::DeviceId process(event.process.value);
    const base::Ticks start(slice.start), end(slice.end);
    if (meaning.marksStep && meaning.step) steps.push_back({process, start, end, *meaning.step});
    if (isPass(meaning))
      passes.push_back({process,
                        model::LaneId(event.thread.value),
                        start,
                        end,
                        *meaning.pass,
                        meaning.stage.value_or(-1),
                        meaning.microBatch.value_or(-1),
                        meaning.step,
                        meaning.replica,
                        {},
                        {}});
    return {};
  };
  PIPESCOPE_TRY(visitSlices(trace, unused, take, [](const TraceEvent&) {}));
  assignSteps(passes, steps);
  return passes;
}

}  // namespace pipescope::importing
