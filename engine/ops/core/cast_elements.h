#pragma once
#include <cstddef>

#include "engine/graph/tensor_type.h"

namespace pipescope::ops {

/// Converts `count` elements. To bool: whether the element is not zero. From floating point to whole numbers:
/// towards zero, out of range to the nearest limit, NaN to 0. Between whole numbers: modulo 2ⁿ. To floating
/// point: to nearest, ties to even, rounded once. To float8, numbers that are too large become the largest
/// one if `saturate` is set; otherwise they become infinity, or NaN in a type without infinity.
void castElements(graph::ElementType fromType, const std::byte* from, graph::ElementType toType,
                  std::byte* to, std::int64_t count, bool saturate = true);

}  // namespace pipescope::ops
