#pragma once
// The part of a comparison that two recorded runs on accelerators have: what the accelerators did, and
// kernels.
#include "profiler/analysis/pipeline/diff.h"
#include "profiler/sections/frame/section.h"
#include "profiler/sections/frame/words.h"

namespace pipescope::sections {

/// Compares how accelerators spent their time, and the time of each kernel (the `most` largest changes, the
/// largest first). The tables have no rows if neither profile holds kernels. Fails if the rows of a profile
/// cannot be read.
base::Result<std::vector<SectionTable>> diffKernelTables(const Context& before, const Context& after,
                                                         const analysis::Diff& diff, const Words& words,
                                                         int most);

}  // namespace pipescope::sections
