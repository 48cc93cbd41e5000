#pragma once
#include <cstdint>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Part of an imported trace that the rules recognised. All 0 for other profiles.
struct Coverage {
  std::int64_t slices = 0, recognisedSlices = 0;
  std::int64_t messages = 0, pairedMessages = 0;         ///< sides of messages between stages
  std::int64_t collectives = 0, matchedCollectives = 0;  ///< members that state a group
  /// Passes whose stage, and sides of messages whose pass, the trace does not state.
  std::int64_t inferredStages = 0, inferredMessages = 0;
  std::int64_t ranks = 0, ranksOfRun = 0;  ///< ranks with a trace, and those of the run; 0: not stated
};
/// Reads the coverage from the properties that an import records.
Coverage coverageOf(const Catalog& catalog);

}  // namespace pipescope::analysis
