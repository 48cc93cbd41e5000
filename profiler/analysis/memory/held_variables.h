#pragma once
// Variables of some units (tiles), with their sizes on these units and the steps in which they are live. The
// figures come from the unit maps of variables, which a profile has when it was recorded with `--record
// steps` or `tiles`.
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

struct HeldVariable {
  model::VariableId id;
  std::string name, category, shape;
  std::int32_t stage = -1;
  bool alwaysLive = false;
  Bytes bytes;             ///< sum over the given units
  Bytes most;              ///< bytes on the unit among them that holds most of it
  std::int64_t units = 0;  ///< number of them that hold a part of it
  /// The program steps in which it is live, from the first to the end of the last; −1 for what is always
  /// live.
  std::int32_t firstStep = -1, endStep = -1;
};

struct HeldVariables {
  bool known = false;                   ///< false if the profile has no unit maps
  std::vector<HeldVariable> variables;  ///< largest first
  std::int64_t all = 0;                 ///< number of variables; the smallest may be left out
};

/// The variables of a memory space that lie, at least in part, on the given units, or on any unit if none is
/// given. At most `most` are returned.
Result<HeldVariables> heldVariables(const model::ProfileSource& source, const Catalog& catalog,
                                    model::ExecutableId executable, model::MemorySpaceId space,
                                    const std::vector<std::int64_t>& units, std::size_t most,
                                    base::Progress& progress);

}  // namespace pipescope::analysis
