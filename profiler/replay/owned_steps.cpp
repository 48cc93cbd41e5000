#include "profiler/replay/owned_steps.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "profiler/analysis/block_walk.h"

namespace pipescope::replay {

Ticks prolongedBy(std::vector<OwnedStep> steps) {
  std::ranges::stable_sort(steps, {}, [](const OwnedStep& step) { return std::tuple(step.end, step.start); });
  // Work before the first step, such as a launch, belongs to the pass and not to a step.
  std::int64_t reached = std::ranges::min(steps, {}, &OwnedStep::start).start, own = 0;
  for (const OwnedStep& step : steps) {
    if (step.own) own += std::max<std::int64_t>(0, step.end - reached);
    reached = std::max(reached, step.end);
  }
  return Ticks(own);
}

base::Result<SegmentTicks> ticksOfOwnSteps(const ChangeContext& context, model::ExecutableId executable,
                                           const std::set<int>& stages, const IsOwnStep& isOwn) {
  std::unordered_map<model::SegmentId, std::vector<OwnedStep>> steps;
  PIPESCOPE_TRY(analysis::forAllRows<model::Step>(context.source, [&](const model::Step& step) {
    const model::Segment* segment = context.catalog.segments.find(step.segment);
    if (segment == nullptr || segment->executable != executable || !stages.contains(segment->stage)) return;
    const model::Program program = context.catalog.programs[step.program];
    const std::int64_t start = step.offset.count;
    steps[step.segment].push_back({start, start + step.ticks.count, isOwn(*segment, program)});
  }));
  SegmentTicks ticks;
  for (auto& [segment, all] : steps) {
    if (std::ranges::any_of(all, &OwnedStep::own)) ticks[segment] = prolongedBy(std::move(all));
  }
  return ticks;
}

}  // namespace pipescope::replay
