#pragma once
// Sums that one placement of a segment adds to its device: time by kind and lane, bytes, balance.
#include <map>
#include <unordered_map>

#include "profiler/analysis/kind_times.h"
#include "profiler/base/progress.h"
#include "profiler/model/source.h"

namespace pipescope::analysis {

struct SegmentUse {
  TicksByKind byKind{};  ///< see exclusiveTicks; adds up to the segment's length
  /// Sums over steps. The steps of one lane do not overlap, so a sum is also the time in which the lane
  /// works.
  std::map<model::LaneId, base::Ticks> byLane;
  /// Sum of its exchanges with other devices, which have one lane: the time in which it communicates.
  base::Ticks communicating;
  base::Bytes streamIn, streamOut, exchangeIn, exchangeOut, globalIn, globalOut;
  base::Bytes computeBytes;       ///< bytes that compute steps move to and from the device's memory
  double balanceSum = 0;          ///< sum over compute steps of mean ÷ slowest unit's ticks
  double computeMean = 0;         ///< sum over compute steps of the units' mean ticks
  std::int64_t computeSteps = 0;  ///< compute steps with work
};

/// The use of a segment whose steps are in memory, sorted by offset. A segment without steps counts as one
/// step of its pass on `lane`.
SegmentUse segmentUse(std::span<const model::Step> steps, model::Pass pass, model::LaneId lane,
                      base::Ticks length);

struct SegmentFacts {
  model::SegmentId id;
  model::Pass pass = model::Pass::forward;
  model::LaneId lane;
  base::Ticks length;
};
/// The same for several segments. Reads the step table block by block, and once more for segments whose steps
/// overlap; keeps few steps in memory.
base::Result<std::unordered_map<model::SegmentId, SegmentUse>> segmentUses(
    const model::ProfileSource& source, const std::vector<SegmentFacts>& segments, base::Progress& progress);

}  // namespace pipescope::analysis
