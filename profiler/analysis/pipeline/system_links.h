#pragma once
// What went over the links between devices, and into and out of memory spaces, in a run.
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

struct LinkUse {
  model::LinkId link;          ///< none: several links after each other
  std::string name, from, to;  ///< devices by name; the host is "host"
  double bytesPerSecond = 0;   ///< capacity; 0: not modelled
  Bytes bytes;
  std::int64_t transfers = 0;
  Ticks busy;        ///< at least one transfer is under way, ticks of device 0
  double share = 0;  ///< busy ÷ the run's length
  double rate = 0;   ///< bytes per second while busy
};

/// Bytes into and out of a memory space in the run.
struct SpaceTraffic {
  Bytes in, out;
};

struct SystemUse {
  model::RunId run;
  Ticks length;
  /// By id; then pairs of devices whose transfers go over several links, each pair as one; and for each
  /// device what its collectives send to other replicas.
  std::vector<LinkUse> links;
  std::vector<SpaceTraffic> spaces;  ///< by MemorySpaceId
};

/// Links over the executable's last run. Stream copies are steps of their device: their bytes went over its
/// link with the host. Loads and stores of remote buffers are traffic of streaming memory.
Result<SystemUse> systemUse(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable, base::Progress& progress);

}  // namespace pipescope::analysis
