#pragma once
// Draws one digit of the generated data set: skeleton → warp → affine map → pen → blur, grain and specks.
#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/data/dataset.h"

namespace pipescope::data {

/// Bumped with every change that alters a single byte of any image: caches of older versions are not taken.
constexpr int digitGeneratorVersion = 1;
constexpr std::size_t digitSide = 28;  ///< pixels, in both directions, as MNIST's

struct DigitImage {
  std::uint8_t label = 0;                                    ///< 0…9
  std::array<std::uint8_t, digitSide * digitSide> pixels{};  ///< rows from the top, 0 = paper, 255 = ink
};

/// Image `index` of a split. It depends on the arguments only: not on other images, threads, machine or
/// library (additions, multiplications, divisions and square roots of IEEE floats, in a fixed order; nothing
/// of libm).
DigitImage renderDigit(std::uint64_t seed, Split split, std::int64_t index);

}  // namespace pipescope::data
