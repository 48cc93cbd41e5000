#pragma once
#include "engine/ops/core/operator.h"

namespace pipescope::ops {

/// Elements that a Slice takes along each axis of its input: begin, begin + step …
struct SlicePlan {
  std::vector<std::int64_t> begin, step;
  Shape extents;  ///< extents of the slice
};

/// Requires that starts, ends, axes and steps of the Slice are known.
Result<SlicePlan> slicePlanOf(const OperatorCall& call);

}  // namespace pipescope::ops
