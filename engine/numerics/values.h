#pragma once
// Reads and writes tensors of any floating-point type as float32.
#include <span>

#include "engine/graph/tensor_type.h"

namespace pipescope::ops {
class RandomSequence;
}

namespace pipescope::numerics {

/// True for float32, float16 and bfloat16, the types that weights and gradients may have.
bool isTrainable(graph::ElementType type);

/// Reads elements first … first + to.size() − 1 of a tensor as float32.
void readFloats(graph::ElementType type, std::span<const std::byte> tensor, std::size_t first,
                std::span<float> to);
/// Writes elements from `first` on, rounded to the type. Rounding is to nearest even, or stochastic with the
/// words of `random`.
void writeFloats(graph::ElementType type, std::span<const float> from, std::size_t first,
                 std::span<std::byte> tensor, const ops::RandomSequence* random = nullptr);
/// Rounds values to the type and back, in place, as if they were stored in that type.
void roundTo(graph::ElementType type, std::span<float> values, const ops::RandomSequence* random = nullptr);

}  // namespace pipescope::numerics
