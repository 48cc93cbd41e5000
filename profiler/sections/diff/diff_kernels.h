#pragma once
// The part of a comparison that two recorded runs on accelerators have: what the accelerators did, and
// kernels.
#include "profiler/analysis/pipeline/diff.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {

/// How accelerators spent their time, and the time of each kernel, the largest change first. The tables have
/// no rows if neither profile holds kernels.
base::Result<std::vector<SectionTable>> diffKernelTables(const Context& before, const Context& after,
                                                         const analysis::Diff& diff, const Words& words,
                                                         int most);

}  // namespace pipescope::sections
