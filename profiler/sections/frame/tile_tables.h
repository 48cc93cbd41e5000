#pragma once
// Tables of the section on memory about one tile: the content of its addresses, and its vertices.
#include <vector>

#include "profiler/analysis/memory/memory.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// Three tables: variables, addresses and vertices, of Context::unit of each device. They have no rows where
/// no unit is asked for, except for devices whose memory is in one piece. Fails if there is no such unit or
/// if the profile does not say which unit holds what.
base::Result<std::vector<SectionTable>> tileTables(const Context& context, const analysis::Memory& memory);

}  // namespace pipescope::sections
