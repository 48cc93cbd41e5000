#pragma once
// Reports that several sections need. A Context computes each report only once.
#include <memory>

#include "profiler/analysis/memory/memory.h"
#include "profiler/analysis/pipeline/execution.h"
#include "profiler/analysis/pipeline/stages.h"
#include "profiler/sections/section.h"

namespace pipescope::sections {

template <class Report>
using SharedReport = base::Result<std::shared_ptr<const Report>>;

SharedReport<analysis::Execution> executionOf(const Context& context);
SharedReport<analysis::StagesReport> stagesOf(const Context& context);
SharedReport<analysis::Memory> memoryOf(const Context& context);

}  // namespace pipescope::sections
