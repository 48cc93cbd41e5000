#pragma once
// Chooses the instruction set whose kernels run.
#include <vector>

#include "engine/ops/kernels/kernel_table.h"

namespace pipescope::kernels {

/// The fastest table that this processor supports. It is chosen at the first call and stays the same.
const KernelTable& kernelTable();

/// All tables that this build has and this processor supports, fastest first.
const std::vector<const KernelTable*>& usableTables();

}  // namespace pipescope::kernels
