#pragma once
// Reads what the rules look at from a profile.
#include "profiler/analysis/insights/insight.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// `execution`, `stages` and `memory` are the reports of the executable, `recorded` that of the profile.
Result<InsightInput> insightInput(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, const Execution& execution,
                                  const StagesReport& stages, const Memory& memory,
                                  const AcceleratorReport& recorded, base::Progress& progress);

}  // namespace pipescope::analysis
