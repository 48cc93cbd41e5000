#pragma once
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Elements that a Slice takes along each axis of its input: begin, begin + step …
struct SliceSetup {
  std::vector<std::int64_t> begin, step;
  Shape extents;  ///< extents of the slice
};

/// Requires that starts, ends, axes and steps of the Slice are known.
Result<SliceSetup> sliceSetupOf(const OperatorCall& call);

}  // namespace pipescope::ops
