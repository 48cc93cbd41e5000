#pragma once
#include <vector>

#include "profiler/sections/section.h"
#include "views/shell/profile_session.h"

namespace pipescope::pages {

/// Memory spaces with the units of each that are selected; no units: all of the space.
using WantedUnits = std::vector<std::pair<model::MemorySpaceId, std::vector<std::int64_t>>>;

/// Tables of what is in the units: details by category, region and liveness; variables, vertices and
/// exchanges of their devices. For workers.
base::Result<std::vector<sections::Table>> unitTables(const shell::Snapshot& held,
                                                      model::ExecutableId executable,
                                                      const WantedUnits& wanted, const std::string& unitName);

}  // namespace pipescope::pages
