#pragma once
// Memory by device, category, region and unit; liveness by program step.
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

struct UnitUse {
  std::vector<std::int64_t> includingGaps, excludingGaps;  ///< bytes by unit
  std::vector<std::int64_t> alwaysLive, notAlwaysLive;     ///< bytes by unit
};

/// True for memory on the chip. False for streaming memory and for the host's memory.
bool isOnDevice(const model::MemorySpace& space);

/// The number of units of a memory space, at most 2^20; 0 if there is no such space.
std::int64_t memoryUnitsOf(const Catalog& catalog, model::MemorySpaceId space);

struct DeviceMemory {
  int index = 0;  ///< −1: the host
  std::string name, spaceKind;
  model::MemorySpaceId space;
  std::int64_t units = 1;
  Bytes bytesPerUnit;
  /// Bytes used: what variables and code take, without the gaps between them. Sum over units; most on a unit.
  Bytes total, maxUnit;
  std::int64_t worstUnit = 0;  ///< unit with most bytes used
  /// The address span: bytes used with the gaps between them. It decides what fits.
  Bytes totalIncludingGaps, maxUnitIncludingGaps;
  std::int64_t spanUnit = 0;  ///< unit with the largest address span
  Bytes alwaysLive;
  Bytes notAlwaysLivePeak;  ///< largest sum over units of any liveness step
  std::int64_t peakStep = -1;
  std::map<std::string, Bytes> byCategory, byRegion;
  bool fits = true;
};

/// Memory of one replica.
struct Memory {
  Bytes total, maxUnit, maxUnitIncludingGaps, alwaysLive,
      notAlwaysLivePeak;  ///< sums and maxima over devices' own memory
  std::map<std::string, Bytes> byCategory;
  std::vector<DeviceMemory> devices;  ///< empty: the system's device model has no memory
  std::vector<DeviceMemory> others;   ///< streaming memory and host memory that hold something
};

/// Memory of an executable on the devices of its first replica. Fails if the rows of the profile cannot
/// be read.
Result<Memory> memory(const model::ProfileSource& source, const Catalog& catalog,
                      model::ExecutableId executable);

/// Bytes in each unit of a memory space.
Result<UnitUse> unitUse(const model::ProfileSource& source, const Catalog& catalog,
                        model::ExecutableId executable, model::MemorySpaceId space);
/// The same by category, with a vector of all units for each.
Result<std::map<std::string, std::vector<std::int64_t>>> unitUseByCategory(const model::ProfileSource& source,
                                                                           const Catalog& catalog,
                                                                           model::ExecutableId executable,
                                                                           model::MemorySpaceId space);

struct LivenessPoint {
  std::int32_t step = 0;
  model::ProgramId program;
  model::Pass pass = model::Pass::forward;
  Bytes notAlwaysLive, maxUnitNotAlwaysLive;
};
struct Liveness {
  Bytes alwaysLive;
  std::vector<LivenessPoint> steps;
  std::int64_t peakStep = -1;
};
/// Live bytes of an executable in a memory space, by program step, summed over the units of the space.
Result<Liveness> liveness(const model::ProfileSource& source, const Catalog& catalog,
                          model::ExecutableId executable, model::MemorySpaceId space);

/// Program steps of a memory space, from the first to the last one, both included. A single step is a range.
struct StepRange {
  StepRange(std::int32_t step) : first(step), last(step) {}
  StepRange(std::int32_t from, std::int32_t to) : first(from), last(to) {}
  std::int32_t first, last;
  bool meets(std::int32_t begin, std::int32_t end) const { return begin <= last && first < end; }
};

struct LiveVariable {
  std::string name, category, shape;
  Bytes bytes, maxUnitBytes;
  bool alwaysLive = false;
  std::int32_t firstStep = 0, endStep = 0;  ///< from the first life within the steps to the end of the last
};
/// Variables that are live during any of the steps, largest first. Always-live variables are included on
/// request.
Result<std::vector<LiveVariable>> liveVariables(const model::ProfileSource& source, const Catalog& catalog,
                                                model::ExecutableId executable, model::MemorySpaceId space,
                                                StepRange steps, bool withAlwaysLive);

}  // namespace pipescope::analysis
