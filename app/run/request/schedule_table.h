#pragma once
// Makes the table of `pipescope schedule`. The emulator runs the schedule on devices with given costs.
#include <string>
#include <vector>

#include "engine/compiler/fixed_compiler.h"
#include "profiler/base/result.h"

namespace pipescope::app {

struct ScheduleSlot {
  int device = 0;
  double start = 0, end = 0;  ///< cost units
  std::string kind;           ///< forward, recompute, backward, weight
  int microBatch = 0, slot = -1;
  int chunk = 0;  ///< index among the device's stages
};

struct ScheduleTable {
  std::string schedule;
  std::string sync;  ///< barrier: after each cycle, all devices wait for all copies; dependency: a task waits
                     ///< only for its inputs
  double makespan = 0;  ///< time from the first task's start to the flush's end, with its last exchange
  std::vector<double> utilisation;  ///< busy ÷ makespan of each device
  /// Largest number of micro-batches that are under way at once on each device, from the start of the forward
  /// pass to the end of the last pass, counting all chunks.
  std::vector<int> peakLive;
  std::vector<std::int64_t> stashEntries;  ///< entries of each stage
  int cycles = 0;                          ///< pipeline cycles; 0: the schedule has none
  std::vector<ScheduleSlot> slots;         ///< sorted by device, then by start
};

/// Gives the errors of compileFixed, and refuses tables with millions of slots and runs of several iterations
/// or replicas. Updates and copies of the host are left out.
base::Result<ScheduleTable> scheduleTable(const compile::FixedRun& run);
/// A table with a cell for each pipeline cycle. If the schedule has no cycles, a list of start times.
std::string toText(const ScheduleTable& table);
std::string toJson(const ScheduleTable& table);

}  // namespace pipescope::app
