#pragma once
#include <map>
#include <optional>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Medians over micro-batches and iterations, in ticks. A mean may be longer through a few outliers alone.
struct PassMedians {
  std::optional<double> forward, backward;  ///< backward includes weight gradients
};

/// The medians of each stage in the first replica of the executable's last run.
Result<std::map<int, PassMedians>> passMedians(const model::ProfileSource& source, const Catalog& catalog,
                                               model::ExecutableId executable);

}  // namespace pipescope::analysis
