#pragma once
// What single units (an IPU's tiles) do in a stretch of one device: the BSP block. Recorded with `--record
// tiles`.
//
// Drawing: for every UnitStep a box over all units from start to end in a pale colour (units wait for the
// slowest one), and in it for every UnitRun a box over its units from start to start + ticks in the colour of
// the step's kind. A step without runs was recorded without them: draw it as one box over `activeUnits` units
// without saying which. Times are ticks of the device, as recorded.
#include <cstdint>
#include <memory>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// Units firstUnit … firstUnit + unitCount − 1 work that long from the step's start on.
struct UnitRun {
  std::int64_t firstUnit = 0, unitCount = 1;
  Ticks ticks;
};

struct UnitStep {
  model::PlacementId placement;
  model::LaneId lane;
  model::StepKind kind = model::StepKind::compute;
  model::ProgramId program;
  Ticks start, end;
  std::int64_t activeUnits = 0;
  std::vector<UnitRun> units;  ///< ascending, not overlapping; units that are in none do nothing in the step
};

struct UnitSteps {
  std::vector<UnitStep> steps;  ///< by start
  bool all = true;              ///< false: there are more than were asked for, these are the first
};

/// Sums of a stretch of units that are equal: ticks of the device, clipped to the range. Where the steps of a
/// placement follow each other, busy + exchange + sync + waiting + idle is the range.
struct UnitSums {
  std::int64_t firstUnit = 0, unitCount = 1;
  Ticks busy;      ///< works in compute steps
  Ticks exchange;  ///< works in exchanges and copies of any kind
  Ticks sync;      ///< in sync steps
  Ticks waiting;   ///< the rest of the placements: others work, or nobody said what this unit does
  Ticks idle;      ///< outside of placements
};

struct UnitRequest {
  model::ExecutableId executable;
  model::DeviceId device;
  Ticks from, to;  ///< [from, to)
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

/// Steps of the device that meet the range, at most `most`, with what each unit does in them. Cost: the
/// placements' blocks that meet the range, and of their segments the blocks of steps and of unit times.
Result<UnitSteps> unitSteps(const model::ProfileSource& source, const Catalog& catalog,
                            const UnitRequest& request, std::size_t most, base::Progress& progress);

/// Per unit, over the range; all units of the device, equal neighbours together. Cost: as unitSteps, but
/// segments of placements that lie whole in the range are read once and multiplied.
Result<std::vector<UnitSums>> unitSums(const model::ProfileSource& source, const Catalog& catalog,
                                       const UnitRequest& request, base::Progress& progress);

}  // namespace pipescope::analysis
