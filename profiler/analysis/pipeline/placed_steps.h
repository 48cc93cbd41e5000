#pragma once
// The steps of what the first replica ran in an executable's last run.
#include <map>
#include <vector>

#include "profiler/analysis/pipeline/replica_rows.h"

namespace pipescope::analysis {

struct PlacedSteps {
  ReplicaRows rows;
  std::map<model::SegmentId, std::vector<model::Step>> steps;  ///< of each segment that was placed

  /// Iterations of the run, at least 1.
  double iterations() const;
};

/// Empty for an executable that has not run; without steps for a profile that records none.
Result<PlacedSteps> placedSteps(const model::ProfileSource& source, const Catalog& catalog,
                                model::ExecutableId executable);

}  // namespace pipescope::analysis
