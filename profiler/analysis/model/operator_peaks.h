#pragma once
// The peak rates of the types in which operators compute.
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

class OperatorPeaks {
 public:
  /// Reads the property that lists operators by peak. Files of earlier versions, and runs with a single peak,
  /// have none. Damaged entries of the list are left out.
  OperatorPeaks(const Catalog& catalog, model::ExecutableId executable);

  /// FLOP/s; 0: the profile does not say.
  double of(model::OperatorId op) const;
  /// The highest of all; 0: there are none.
  double highest() const { return highest_; }

 private:
  struct Run {
    std::int64_t first = 0, last = 0;
    double peak = 0;
  };
  std::vector<Run> runs_;  ///< ascending
  double highest_ = 0;
};

}  // namespace pipescope::analysis
