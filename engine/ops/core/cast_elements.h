#pragma once
#include <cstddef>

#include "engine/graph/tensor_type.h"

namespace pipescope::ops {

/// Converts `count` elements. To bool: whether the element is not zero. From floating point to whole numbers:
/// towards zero, out of range to the nearest limit, NaN to 0. Between whole numbers: modulo 2ⁿ. To floating
/// point: to nearest, ties to even, rounded once.
void castElements(graph::ElementType fromType, const std::byte* from, graph::ElementType toType,
                  std::byte* to, std::int64_t count);

}  // namespace pipescope::ops
