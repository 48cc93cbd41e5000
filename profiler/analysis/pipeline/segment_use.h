#pragma once
// What one placement of a segment adds to the sums of its device.
#include <map>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct SegmentUse {
  std::map<model::StepKind, Ticks> byKind;  ///< sums over steps
  /// Sums over steps. The steps of one lane do not overlap, so a sum is also the time in which the lane
  /// works.
  std::map<model::LaneRole, Ticks> byLane;
  Ticks anyLane;  ///< time in which at least one lane works
  Bytes streamIn, streamOut, exchangeIn, exchangeOut, globalIn, globalOut;
  double balanceSum = 0;          ///< sum over compute steps of mean ÷ slowest unit's ticks
  double computeMean = 0;         ///< sum over compute steps of the units' mean ticks
  std::int64_t computeSteps = 0;  ///< compute steps with work
};

/// Of the executable's segments; those of other executables stay empty. A segment without recorded steps
/// counts as one step of its pass's kind. Reads the step table block by block.
Result<base::IdVector<model::SegmentId, SegmentUse>> segmentUses(const model::ProfileSource& source,
                                                                 const Catalog& catalog,
                                                                 model::ExecutableId executable);

}  // namespace pipescope::analysis
