#pragma once
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// A kernel that copies input 0 to output 0, for every element type. It does nothing if the output took over
/// the input's memory.
Kernel copyKernel();

}  // namespace pipescope::ops
