#pragma once
// Work of experts in an emulated run whose ranks divide them. The recorded rank is the most loaded one.
#include <cstdint>
#include <optional>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct ExpertWork {
  double imbalance = 1;      ///< rows of the most loaded rank ÷ mean
  std::int64_t hottest = 0;  ///< number of the first most loaded rank along the axis `expert`
  double ticks = 0;          ///< products and exchanges of experts, all stages, per iteration
  /// Part of `ticks` that an even load would save, as they are proportional to rows: ticks · (1 − 1 ÷
  /// imbalance).
  double excess = 0;
};

/// None: no ranks divide experts.
Result<std::optional<ExpertWork>> expertWork(const model::ProfileSource& source, const Catalog& catalog,
                                             model::ExecutableId executable);

}  // namespace pipescope::analysis
