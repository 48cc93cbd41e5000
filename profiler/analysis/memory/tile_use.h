#pragma once
// Content of single units (tiles) of a memory space.
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// Bytes in each unit, by region. The entry "gap" holds the bytes that nothing can use, over all regions.
Result<std::map<std::string, std::vector<std::int64_t>>> unitUseByRegion(const model::ProfileSource& source,
                                                                         const Catalog& catalog,
                                                                         model::ExecutableId executable,
                                                                         model::MemorySpaceId space);

/// Sums over some units.
struct TileUse {
  std::string category, region;
  bool alwaysLive = false;
  Bytes bytes;
};
/// The use of the given units, or of all units if none are given, largest first. "gap" is a category of its
/// own.
Result<std::vector<TileUse>> tileUse(const model::ProfileSource& source, model::ExecutableId executable,
                                     model::MemorySpaceId space, const std::vector<std::int64_t>& units);

/// The step of a program, and the step's first placement in the executable's last run.
struct ProgramPlace {
  bool found = false, ran = false;
  std::string kind;  ///< kind of the program
  model::Step step;
  model::SegmentId segment;
  Ticks time;  ///< time of the step in that placement, in ticks of device 0
  model::PlacementId placement;
};
/// Finds a step that runs the program, and a placement of the executable's last run in which it does.
/// Fails if rows cannot be read or if `progress` was cancelled.
Result<ProgramPlace> programPlace(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, model::ProgramId program,
                                  base::Progress& progress);

}  // namespace pipescope::analysis
