#pragma once
// The part of a comparison that says what chips send along each axis of the mesh, and how much of that no
// computation hides.
#include <string>

#include "profiler/sections/frame/compared.h"

namespace pipescope::sections {

/// A sentence that says by how much exposed collectives of the limiting stage changed, and along which axes.
/// Empty: along no axis this is a fifth of the change of the step.
std::string diffAxesInShort(const ComparedSide& before, const ComparedSide& after, const Words& words,
                            double stepChange);
/// A row for each axis that one of the profiles uses.
SectionTable diffAxisTable(const ComparedSide& before, const ComparedSide& after, const Words& words);

}  // namespace pipescope::sections
