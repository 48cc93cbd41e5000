#pragma once
#include <vector>

#include "profiler/sections/section.h"
#include "views/shell/profile_session.h"

namespace pipescope::pages {

/// Memory spaces with their selected units; without units, the whole space is meant.
using WantedUnits = std::vector<std::pair<model::MemorySpaceId, std::vector<std::int64_t>>>;

/// Makes tables of what the units hold: details by category, region and liveness, and the variables, vertices
/// and exchanges of their devices. For workers.
base::Result<std::vector<sections::Table>> unitTables(const shell::Snapshot& held,
                                                      model::ExecutableId executable,
                                                      const WantedUnits& wanted, const std::string& unitName);

}  // namespace pipescope::pages
