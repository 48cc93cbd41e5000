#pragma once
#include <cstdint>
#include <vector>

#include "profiler/analysis/catalog.h"

namespace pipescope::analysis {

/// Returns for each device of a recorded run the index of an earlier one that does the same: passes of the
/// same stages, or work on the same kinds of lanes, in numbers and times that differ by a tenth at most. −1:
/// none does, or the run was emulated. So a rank that is slow, or has more to do, stands for itself.
std::vector<std::int32_t> alikeDevices(const Catalog& catalog, model::ExecutableId executable);

}  // namespace pipescope::analysis
