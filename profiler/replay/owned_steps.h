#pragma once
// Time that some steps add to the segments that they belong to.
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "profiler/replay/change.h"

namespace pipescope::replay {

/// A step of a segment, in ticks from the segment's start.
struct OwnedStep {
  std::int64_t start = 0, end = 0;
  bool own = false;  ///< it is one of the steps in question
};

/// The ticks by which the own steps prolong their segment. Lanes may work side by side; a step that ends
/// before an earlier one of another lane costs nothing. The steps must not be empty.
Ticks prolongedBy(std::vector<OwnedStep> steps);

using SegmentTicks = std::map<model::SegmentId, Ticks>;

/// Says whether a step is one of those in question, by its segment and its program.
using IsOwnStep = std::function<bool(const model::Segment& segment, const model::Program& program)>;

/// Returns for each segment of these stages the time of those of its steps for which `isOwn` is true.
/// Segments without such steps are left out.
base::Result<SegmentTicks> ticksOfOwnSteps(const ChangeContext& context, model::ExecutableId executable,
                                           const std::set<int>& stages, const IsOwnStep& isOwn);

}  // namespace pipescope::replay
