#pragma once
// Number of runs of each segment in an iteration. Sums over passes need it, because a micro-batch's passes
// run many times in an iteration and the weight update runs once.
#include <unordered_map>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct SegmentRuns {
  std::unordered_map<model::SegmentId, std::int64_t> times;  ///< runs in all iterations of the last call
  std::int64_t iterations = 1;                               ///< iterations of that call

  std::int64_t of(model::SegmentId segment) const {
    const auto found = times.find(segment);
    return found == times.end() ? 0 : found->second;
  }
};

/// Returns the number of times that an iteration runs a pass as compiled: once for each micro-batch that goes
/// through its stage, but updates and collectives once.
std::int64_t passRuns(const Catalog& catalog, model::ExecutableId executable, model::Pass pass);

/// Counts the placements of the last call. If none is recorded, takes passRuns.
Result<SegmentRuns> segmentRuns(const model::ProfileSource& source, const Catalog& catalog,
                                model::ExecutableId executable);

}  // namespace pipescope::analysis
