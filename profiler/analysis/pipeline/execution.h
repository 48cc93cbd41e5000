#pragma once
// Sums up each device's work in a run: ticks by lane and by kind of step, idle time, communication that
// other work does not hide, traffic and tile balance.
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
  bool placed = false;                      ///< at least one placement lies on the device
  Ticks anyLane;        ///< time in which at least one lane works, without collectives and transfers
  Ticks communicating;  ///< union of transfers and collectives
  Ticks exposed;        ///< time in which the device waits for transfers and collectives
  Bytes streamIn, streamOut, exchangeIn, exchangeOut, globalIn, globalOut;
  double tileBalance = 0;         ///< mean over compute steps of mean ÷ slowest unit's ticks
  double parallelEfficiency = 0;  ///< compute unit-ticks ÷ (units × total)
};

struct Execution {
  Ticks total;  ///< of device 0's timebase: the run's span
  double seconds = 0;
  double samplesPerSecond = 0;  ///< of the emulated system
  std::int64_t samples = 0;
  /// The devices of the first replica come first. Devices of replicas that were not recorded are left out.
  std::vector<DeviceExecution> devices;
  int replicasNotRecorded = 0;
};

/// Totals of the executable's last run, one replica.
Result<Execution> execution(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable);

}  // namespace pipescope::analysis
