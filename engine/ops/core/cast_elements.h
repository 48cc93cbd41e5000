#pragma once
#include <cstddef>

#include "engine/graph/tensor_type.h"

namespace pipescope::ops {

/// Converts `count` elements. To bool: whether not zero. To whole numbers: towards zero from floating point
/// (out of range: the nearest number there is; NaN: 0), modulo 2ⁿ from whole numbers. To floating point: to
/// nearest, ties to even, rounded once.
void castElements(graph::ElementType fromType, const std::byte* from, graph::ElementType toType,
                  std::byte* to, std::int64_t count);

}  // namespace pipescope::ops
