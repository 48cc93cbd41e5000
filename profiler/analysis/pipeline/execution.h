#pragma once
// Sums up each device's work in a run: ticks by lane and by kind of step, idle time and its causes,
// communication that other work does not hide, traffic and tile balance.
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/kind_times.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

struct DeviceExecution {
  int index = 0;
  std::string name, kind;
  std::int64_t clockHz = 0;
  bool holdsStage = false;  ///< a stage of the first replica
  bool placed = false;      ///< true: at least one placement lies on the device
  Ticks total;              ///< span of the run on this device
  /// Ticks by kind of step. Every moment counts once; transfers outside placements count as global exchange.
  /// The kinds and `idle` add up to `total`. Control is the time of placements in which no lane
  /// computes or moves data.
  TicksByKind byKind{};
  Ticks idle;  ///< total − the union of its placements and transfers
  /// Ticks in which the lanes of this role work, without syncs, in which they only wait for others. Lanes may
  /// work at the same time.
  std::map<model::LaneRole, Ticks> byLane;
  /// Waits by cause, without the time of placements on other lanes. Transfers may go on meanwhile.
  std::map<model::WaitCause, Ticks> waits;
  Ticks transfersOutside;  ///< union of its transfers outside placements
  Ticks transfersAlone;    ///< part of it in which the device does not wait
  Ticks communicating;     ///< union of its transfers and collectives, with those within passes
  /// Part of it in which no other placement works, and no other lane of the pass, or no kernel of a trace
  /// without passes.
  Ticks exposed;
  Bytes streamIn, streamOut, exchangeIn, exchangeOut, globalIn, globalOut;
  Bytes computeBytes;      ///< bytes that compute steps move to and from the device's memory
  double tileBalance = 0;  ///< mean over compute steps of mean ÷ slowest unit's ticks; 0: none
  /// Compute unit-ticks ÷ (units × total). For a device without units: time in which it computes ÷ total.
  double parallelEfficiency = 0;

  Ticks ofKind(model::StepKind which) const { return Ticks(byKind[kindIndex(which)]); }
};

struct Execution {
  Ticks total;  ///< length of the run in device 0's timebase
  double seconds = 0;
  double samplesPerSecond = 0;  ///< samples per second of the emulated system
  std::int64_t samples = 0;
  /// The devices of the first replica come first. Devices of replicas that were not recorded are left out.
  std::vector<DeviceExecution> devices;
  int replicasNotRecorded = 0;
  /// Devices that do the same as the first rank of their place, whose figures stand for them.
  int ranksNotRecorded = 0;
};

/// Totals of the executable's last run, one replica.
Result<Execution> execution(const model::ProfileSource& source, const Catalog& catalog,
                            model::ExecutableId executable);

/// Times of one device in a part of a run, as in DeviceExecution.
struct DeviceTimes {
  Ticks total, idle;
  TicksByKind byKind{};
  Bytes streamIn, streamOut, globalIn, globalOut;  ///< bytes of steps and transfers that end in the part
  double parallelEfficiency = 0;
};
/// Returns the times of each device in [from, to) of a run that another tool recorded, by the same rules as
/// execution().
Result<std::vector<DeviceTimes>> recordedTimes(const model::ProfileSource& source, const Catalog& catalog,
                                               const model::Run& run, Ticks from, Ticks to,
                                               base::Progress& progress);

/// The same without the devices, which needs no rows of the run.
Execution callTotals(const Catalog& catalog, model::ExecutableId executable);

/// Shares of the time of all devices that hold a stage. They add up to 1.
struct TimeShares {
  double compute = 0, control = 0;
  double exchange = 0;  ///< exchange within and between devices, sync, collectives, and waits for them
  double stream = 0;    ///< copies from and to the host
  double memory = 0;    ///< loads and stores of remote buffers
  double host = 0;      ///< waits for the host
  double pipeline = 0;  ///< waits for fill, drain, slower stages and other devices' updates
  double unknown = 0;   ///< kinds of steps of newer files, and idle time without a recorded cause
};
/// All shares are 0 if nothing has run.
TimeShares timeShares(const Execution& execution);

}  // namespace pipescope::analysis
