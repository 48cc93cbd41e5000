#pragma once
#include <vector>

#include "profiler/analysis/timeline/name_uses.h"
#include "profiler/analysis/timeline/trace.h"

namespace pipescope::geometry {

/// The steps of a trace whose name paths match a query.
class FoundSteps {
 public:
  FoundSteps(const analysis::Trace& trace, const analysis::NameQuery& query);

  /// `segment` is an index into Trace::segments, `step` one into TraceSegment::steps.
  bool step(std::int32_t segment, std::int32_t step) const;
  /// A step on the lane (none: on any lane) that begins in [from, to) of the segment matches.
  bool any(std::int32_t segment, model::LaneId lane, base::Ticks from, base::Ticks to) const;
  bool any(std::int32_t segment) const;

 private:
  const analysis::Trace& trace_;
  /// Numbers of matches among the first steps of each segment; empty for a segment without a match.
  std::vector<std::vector<std::uint32_t>> counts_;
};

}  // namespace pipescope::geometry
