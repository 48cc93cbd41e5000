#pragma once
// Tensors of any floating-point type seen as float32.
#include <span>

#include "engine/graph/tensor_type.h"

namespace pipescope::ops {
class RandomSequence;
}

namespace pipescope::numerics {

/// True for float32, float16 and bfloat16: types that weights and gradients may have.
bool isTrainable(graph::ElementType type);

/// Elements first … first + to.size() − 1 of a tensor, widened.
void readFloats(graph::ElementType type, std::span<const std::byte> tensor, std::size_t first,
                std::span<float> to);
/// Writes elements from `first` on, rounded to the type: to nearest even, or stochastically by the words of
/// `random`.
void writeFloats(graph::ElementType type, std::span<const float> from, std::size_t first,
                 std::span<std::byte> tensor, const ops::RandomSequence* random = nullptr);
/// Rounds to the type and back, in place: what storing the values in that type leaves of them.
void roundTo(graph::ElementType type, std::span<float> values, const ops::RandomSequence* random = nullptr);

}  // namespace pipescope::numerics
