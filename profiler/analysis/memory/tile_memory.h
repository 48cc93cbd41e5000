#pragma once
// What fills single units (tiles) of a memory space, and the variables behind it.
#include <map>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// Bytes by unit, by region; "gap" is the bytes that nothing can use, of all regions.
Result<std::map<std::string, std::vector<std::int64_t>>> unitUseByRegion(const model::ProfileSource& source,
                                                                         const Catalog& catalog,
                                                                         model::ExecutableId executable,
                                                                         model::MemorySpaceId space);

/// One line of the details of some units: sums over them.
struct TileUse {
  std::string category, region;
  bool alwaysLive = false;
  Bytes bytes;
};
/// By category, region and liveness, largest first; "gap" is a category of its own. No units: all of them.
Result<std::vector<TileUse>> tileUse(const model::ProfileSource& source, model::ExecutableId executable,
                                     model::MemorySpaceId space, const std::vector<std::int64_t>& units);

struct SpaceVariable {
  model::VariableId id;
  std::string name, category, shape;
  Bytes bytes, maxUnitBytes;
  bool alwaysLive = false;
};
struct SpaceVariables {
  std::vector<SpaceVariable> variables;  ///< largest first
  std::int64_t all = 0;                  ///< how many there are; the smallest may be left out
};
/// Variables of a space (none: of all spaces), at most `most` of them.
Result<SpaceVariables> spaceVariables(const model::ProfileSource& source, const Catalog& catalog,
                                      model::ExecutableId executable, model::MemorySpaceId space,
                                      std::size_t most, base::Progress& progress);

/// Where a program runs: its step, and the first placement of it in the executable's last run.
struct ProgramPlace {
  bool found = false, ran = false;
  std::string kind;  ///< of the program
  model::Step step;
  model::SegmentId segment;
  Ticks time;  ///< of the step in that placement, in ticks of device 0
  model::PlacementId placement;
};
Result<ProgramPlace> programPlace(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, model::ProgramId program,
                                  base::Progress& progress);

}  // namespace pipescope::analysis
