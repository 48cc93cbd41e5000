#pragma once
// What went over the links between devices in a run.
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

struct LinkUse {
  model::LinkId link;
  std::string name, from, to;  ///< devices by name; the host is "host"
  double bytesPerSecond = 0;   ///< capacity; 0: not modelled
  Bytes bytes;
  std::int64_t transfers = 0;
  Ticks busy;        ///< at least one transfer is under way, ticks of device 0
  double share = 0;  ///< busy ÷ the run's length
  double rate = 0;   ///< bytes per second while busy
};

struct SystemUse {
  model::RunId run;
  Ticks length;
  std::vector<LinkUse> links;  ///< by id; then transfers that name no link, as one
};

/// Links over the executable's last run.
Result<SystemUse> systemUse(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable, base::Progress& progress);

}  // namespace pipescope::analysis
