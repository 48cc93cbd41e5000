#pragma once
// How often each segment runs in an iteration. Sums over passes need it, because a micro-batch's passes run
// many times in an iteration and the weight update runs once.
#include <unordered_map>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct SegmentRuns {
  std::unordered_map<model::SegmentId, std::int64_t> times;  ///< in all iterations of the last call
  std::int64_t iterations = 1;                               ///< of that call

  std::int64_t of(model::SegmentId segment) const {
    const auto found = times.find(segment);
    return found == times.end() ? 0 : found->second;
  }
};

/// How often an iteration runs a pass as compiled: once for each micro-batch that goes through its stage, but
/// updates and collectives once.
std::int64_t passRuns(const Catalog& catalog, model::ExecutableId executable, model::Pass pass);

/// Counts the placements of the last call. Where none is recorded, passRuns says it.
Result<SegmentRuns> segmentRuns(const model::ProfileSource& source, const Catalog& catalog,
                                model::ExecutableId executable);

}  // namespace pipescope::analysis
