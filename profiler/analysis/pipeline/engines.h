#pragma once
// How much each lane of a device works, and what communication is not hidden behind other work.
#include <map>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct DeviceEngines {
  int device = 0;
  Ticks total;  ///< span of the run on this device
  std::map<model::LaneRole, Ticks>
      busy;             ///< of each lane: union of its steps, or of its segments' placements
  Ticks anyBusy;        ///< union over lanes of what is computed or copied
  Ticks communicating;  ///< union of transfers and collectives
  Ticks exposed;        ///< the device waits for transfers and collectives
};

/// Of the executable's last run, by device; devices without placements are left out.
Result<std::vector<DeviceEngines>> engines(const model::ProfileSource& source, const Catalog& catalog,
                                           model::ExecutableId executable);

}  // namespace pipescope::analysis
