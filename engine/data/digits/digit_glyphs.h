#pragma once
// Glyphs of digits as people write them: skeletons of strokes, several per digit.
#include <span>

namespace pipescope::data {

struct Point {
  float x = 0;
  float y = 0;
};

/// A pen's path through its points, smooth (Catmull–Rom); a point that is given twice is a corner.
using Stroke = std::span<const Point>;
/// The strokes of one way to write a digit, in a box from (0, 0) at the top left to (1, 1) at the bottom
/// right.
using Glyph = std::span<const Stroke>;

/// All ways to write `digit` (0…9).
std::span<const Glyph> glyphsOf(int digit);

}  // namespace pipescope::data
