#pragma once
// The part of a comparison that describes each stage: its blocks, passes, waits and memory.
#include <vector>

#include "profiler/sections/frame/compared.h"

namespace pipescope::sections {

/// Lists the blocks of the model that lie in each stage before and after.
SectionTable diffSplitTable(const ComparedSide& before, const ComparedSide& after);
/// Passes, waits and memory of each stage, for programs: a row for each stage and quantity.
std::vector<SectionTable> diffStageTables(const ComparedSide& before, const ComparedSide& after,
                                          const Words& words);
/// The same for people: a row for each stage, with cells such as "12,337 → 23,245".
std::vector<SectionTable> diffStageTexts(const ComparedSide& before, const ComparedSide& after,
                                         const Words& words);

}  // namespace pipescope::sections
