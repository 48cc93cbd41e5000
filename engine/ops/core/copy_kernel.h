#pragma once
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Output 0 holds input 0's bytes; nothing to do where it took over its memory. For every element type.
Kernel copyKernel();

}  // namespace pipescope::ops
