#pragma once
// What each device did in a run: ticks by lane, by kind of step, idle; traffic; tile balance.
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct DeviceExecution {
  int index = 0;
  std::string name, kind;
  std::int64_t clockHz = 0;
  Ticks total;  ///< span of the run on this device
  Ticks idle;   ///< total − the union of its placements and transfers
  std::map<model::LaneRole, Ticks> byLane;
  std::map<model::StepKind, Ticks> byKind;  ///< steps of its placements; transfers count as global exchange
  Bytes streamIn, streamOut, exchangeIn, exchangeOut, globalIn, globalOut;
  double tileBalance = 0;         ///< mean over compute steps of mean ÷ slowest unit's ticks
  double parallelEfficiency = 0;  ///< compute unit-ticks ÷ (units × total)
};

struct Execution {
  Ticks total;  ///< of device 0's timebase: the run's span
  double seconds = 0;
  double samplesPerSecond = 0;  ///< the emulated system's
  std::int64_t samples = 0;
  std::vector<DeviceExecution>
      devices;  ///< the first replica's first; without replicas that are not recorded
  int replicasNotRecorded = 0;
};

/// Totals of the executable's last run, one replica.
Result<Execution> execution(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable);

}  // namespace pipescope::analysis
