#pragma once
// The part of a comparison that comes first: the step and its parts, the speed, and memory as a whole.
#include "profiler/sections/frame/compared.h"

namespace pipescope::sections {

/// A sentence that says which step is shorter and which part of it changed most. Empty: a profile has no
/// call.
std::string diffInShort(const ComparedSide& before, const ComparedSide& after, const Words& words);
/// The intervals of both steps, where they are modelled, and the probability that the step afterwards is
/// truly shorter, per sample where the calls have samples.
std::vector<Fact> diffIntervalFacts(const ComparedSide& before, const ComparedSide& after,
                                    const Words& words);
/// The step, its parts, the speed, imbalance, bubble and memory.
SectionTable diffStepTable(const ComparedSide& before, const ComparedSide& after, const Words& words);

}  // namespace pipescope::sections
