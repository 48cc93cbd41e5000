#pragma once
// Which instruction set's kernels run.
#include <vector>

#include "engine/ops/kernels/kernel_table.h"

namespace pipescope::kernels {

/// The fastest that this processor has; chosen at the first call, the same from then on.
const KernelTable& kernelTable();

/// All that this build has and this processor can run, fastest first.
const std::vector<const KernelTable*>& usableTables();

}  // namespace pipescope::kernels
