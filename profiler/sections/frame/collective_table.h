#pragma once
// Table of the collectives of an emulated run, which the sections sharding and collectives show.
#include <string>
#include <vector>

#include "profiler/analysis/pipeline/collective_uses.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// "decoder/layer*/attention/query": the name with a star for each number.
std::string patternOf(const std::string& name);

/// A row for each operator that executes a collective, per iteration on one chip. Operators whose names
/// differ by numbers only, such as those of equal layers, are one row.
SectionTable executedCollectives(const Context& context, const std::vector<analysis::CollectiveUse>& uses);

}  // namespace pipescope::sections
