#pragma once
// What single units (an IPU's tiles) do in a step. A profile has these figures when it was recorded with
// `--record tiles`. Times are ticks of the device, as recorded.
#include <cstdint>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Units firstUnit … firstUnit + unitCount − 1 work that long from the step's start on.
struct UnitRun {
  std::int64_t firstUnit = 0, unitCount = 1;
  Ticks ticks;
};

/// True where the profile knows what single units do.
Result<bool> hasUnitSteps(const model::ProfileSource& source);

/// Unit times of single steps by their row in table step; keeps the last few blocks that it has read.
class UnitReader {
 public:
  static Result<UnitReader> make(const model::ProfileSource& source);
  /// Of a step of `length` on a device with so many units; what does not fit into these is left out.
  Result<std::vector<UnitRun>> of(std::int64_t stepRow, Ticks length, std::int64_t units);

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
