#pragma once
// What `pipescope schedule` shows: an order on devices with given costs, emulated and read back.
#include <string>
#include <vector>

#include "engine/compile/model/fixed_compiler.h"
#include "profiler/base/result.h"

namespace pipescope::app {

struct ScheduleSlot {
  int device = 0;
  double start = 0, end = 0;  ///< cost units
  std::string kind;           ///< forward, recompute, backward, weight
  int microBatch = 0, slot = -1;
  int chunk = 0;  ///< which of the device's stages
};

struct ScheduleTable {
  std::string schedule;
  std::string sync;     ///< barrier: all devices and all copies, after each cycle; dependency: inputs only
  double makespan = 0;  ///< from the first task's start to the end of the flush, its last exchange included
  std::vector<double> utilisation;  ///< by device: busy ÷ makespan
  /// By device: most micro-batches (of all its chunks) between the start of their forward and the end of
  /// their last pass.
  std::vector<int> peakLive;
  std::vector<std::int64_t> stashEntries;  ///< by stage
  int cycles = 0;                          ///< pipeline cycles; 0 where the schedule has none
  std::vector<ScheduleSlot> slots;         ///< by device, then in time
};

/// Refused: what compile::compileFixed refuses, and tables of millions of slots.
base::Result<ScheduleTable> scheduleTable(const compile::FixedRun& run);
/// A cell per pipeline cycle where the schedule has them, otherwise start times.
std::string toText(const ScheduleTable& table);
std::string toJson(const ScheduleTable& table);

}  // namespace pipescope::app
