#pragma once
// Draws one digit of the generated data set: skeleton → warp → affine map → pen → blur, grain and specks.
#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/data/dataset.h"

namespace pipescope::data {

/// Raise this with every change that alters a byte of any image. Caches of older versions are then ignored.
constexpr int digitGeneratorVersion = 1;
constexpr std::size_t digitSide = 28;  ///< pixels, in both directions, as MNIST's

struct DigitImage {
  std::uint8_t label = 0;                                    ///< 0…9
  std::array<std::uint8_t, digitSide * digitSide> pixels{};  ///< rows from the top, 0 = paper, 255 = ink
};

/// Draws image `index` of a split. It depends only on the arguments, not on other images, threads, machine or
/// libraries: it uses only IEEE additions, multiplications, divisions and square roots in a fixed order, and
/// nothing of libm.
DigitImage renderDigit(std::uint64_t seed, DataSplit split, std::int64_t index);

}  // namespace pipescope::data
