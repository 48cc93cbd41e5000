#pragma once
// Texts and tables of reports about a model that does not fit in memory.
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// The codes of the diagnostics that say what does not fit, and what would help.
inline constexpr const char *kOutOfMemory = "out_of_memory", *kMemoryAdvice = "out_of_memory_advice";

/// The remark of reports with times where the model does not fit.
inline constexpr const char* kHypothetical =
    "The model does not fit in memory, so its times and rates are hypothetical: no real device could run it "
    "like this.";

/// A row for each memory that is too small: what it needs, what it has, which tiles, and what they hold.
base::Result<SectionTable> overflowTable(const Context& context, const analysis::Memory& memory);
/// Lists changes that would help, in short lines. A line that several devices have in common stands there
/// once.
SectionTable adviceTable(const Context& context);

}  // namespace pipescope::sections
