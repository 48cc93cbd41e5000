#pragma once
// Liveness of a single unit (tile): bytes by program step, and the variables that they belong to. The figures
// come from the unit maps of variables, which a profile has when it was recorded with `--record steps` or
// `tiles`.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/memory/memory.h"

namespace pipescope::analysis {

struct UnitLiveness {
  bool known = false;  ///< false if the profile has no unit maps
  Bytes alwaysLive;
  std::vector<Bytes> notAlwaysLive;  ///< bytes in each program step of the space
  std::int64_t peakStep = -1;        ///< the first step with the most bytes; −1: no steps
};
/// Live bytes of one unit of a memory space, by program step.
Result<UnitLiveness> unitLiveness(const model::ProfileSource& source, const Catalog& catalog,
                                  model::ExecutableId executable, model::MemorySpaceId space,
                                  std::int64_t unit);

struct UnitVariable {
  model::VariableId id;
  std::string name, category, shape;
  bool alwaysLive = false;
  Bytes bytes;  ///< bytes on that unit
};
/// The variables that a unit holds during any of the steps, largest first.
Result<std::vector<UnitVariable>> variablesOnUnit(const model::ProfileSource& source, const Catalog& catalog,
                                                  model::ExecutableId executable, model::MemorySpaceId space,
                                                  std::int64_t unit, StepRange steps);

/// The variables that a unit holds during any step, largest first.
Result<std::vector<UnitVariable>> variablesOfUnit(const model::ProfileSource& source, const Catalog& catalog,
                                                  model::ExecutableId executable, model::MemorySpaceId space,
                                                  std::int64_t unit);

}  // namespace pipescope::analysis
