#pragma once
// Work of single units (an IPU's tiles) in a step. A profile has these figures when it was recorded with
// `--record tiles`. Times are ticks of the device, as recorded.
#include <cstdint>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Units firstUnit … firstUnit + unitCount − 1 work for the same time from the step's start on.
struct UnitTicks {
  std::int64_t firstUnit = 0, unitCount = 1;
  Ticks ticks;
};

/// True if the profile records the times of single units.
Result<bool> hasUnitSteps(const model::ProfileSource& source);

/// Finds the unit times of a step by its row in table step. Keeps the last few blocks that it has read.
class UnitReader {
 public:
  static Result<UnitReader> make(const model::ProfileSource& source);
  /// Returns the runs of a step of `length` ticks on a device with `units` units. It leaves out runs that
  /// exceed these limits.
  Result<std::vector<UnitTicks>> of(std::int64_t stepRow, Ticks length, std::int64_t units);

 private:
  struct Block {
    std::int64_t firstStep = 0, lastStep = -1;
    model::Rows<model::StepUnits> rows;
  };
  explicit UnitReader(const model::ProfileSource& source) : source_(&source) {}
  const model::ProfileSource* source_;
  std::vector<Block> blocks_;
  std::size_t kept_ = 0;
};

}  // namespace pipescope::analysis
