#pragma once
// Traffic of a run: over the links between devices, and into and out of memory spaces.
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

struct LinkUse {
  model::LinkId link;          ///< none: a way over links that a trace or an older profile does not name
  std::string name, from, to;  ///< devices by name; the host is "host"
  double bytesPerSecond = 0;   ///< capacity; 0: not modelled
  Bytes bytes;
  std::int64_t transfers = 0;
  Ticks busy;        ///< time with at least one transfer, in ticks of device 0
  double share = 0;  ///< busy ÷ length of the run
  double rate = 0;   ///< bytes per second while busy
  /// False if it may carry bytes of which the profile does not say so. A collective is recorded with the
  /// bytes of each device, not of each link, and a replica that does the same as another one is not recorded.
  bool known = true;
};

/// Bytes into and out of a memory space in the run.
struct SpaceTraffic {
  Bytes in, out;
  bool known = true;  ///< false if its device works for a replica that is not recorded
};

struct SystemUse {
  model::RunId run;
  Ticks length;
  /// First the links by id, then one entry for each pair of devices whose way over several links is not
  /// known, then one for each device whose collectives send bytes to other chips.
  std::vector<LinkUse> links;
  base::IdVector<model::MemorySpaceId, SpaceTraffic> spaces;
  bool unknownCollectives = false;  ///< there are links whose part of the collectives is not known
};

/// The links that bytes between two devices cross, in order, where no link joins these. Empty: the profile
/// does not name them.
std::vector<model::LinkId> routeBetween(const Catalog& catalog, model::ExecutableId executable,
                                        model::DeviceId from, model::DeviceId to);

/// Traffic of the executable's last run. The bytes of a stream copy count for the link between its device and
/// the host. Loads and stores of remote buffers count as traffic of streaming memory.
Result<SystemUse> systemUse(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable, base::Progress& progress);

}  // namespace pipescope::analysis
