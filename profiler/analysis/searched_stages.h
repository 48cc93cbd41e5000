#pragma once
#include <cstdint>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Returns the number of stages into which the program divided the model by a search (execution.stages). A
/// run with other options searches anew. 0: nobody asked for a search, or for one stage.
std::int64_t searchedStages(const Catalog& catalog);

}  // namespace pipescope::analysis
