#pragma once
// A treemap: rectangles whose areas are proportional to values, as close to squares as possible.
#include <string>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct TreemapItem {
  double value = 0;  ///< ≥ 0; other values count as 0 and get no area
  ColourRole role = ColourRole::series;
  std::string label;  ///< a name path; drawn if it fits
};

/// Lays the items out by the squarified algorithm (Bruls, Huizing, van Wijk 2000): rows of items along the
/// shorter side, largest first.
class Treemap {
 public:
  Treemap() = default;
  Treemap(std::vector<TreemapItem> items, int width, int height);

  /// The marked item has an outline; −1: none.
  Shapes draw(const TextMeasure& measure, int marked = -1) const;
  int hit(int x, int y) const;  ///< index of the item; −1: none
  /// The box of an item; empty if it has no area.
  const Box& boxOf(int item) const { return boxes_[static_cast<std::size_t>(item)]; }

 private:
  struct Area {
    double x, y, width, height;
  };
  void placeRow(const std::vector<std::size_t>& order, std::size_t first, std::size_t end, double sum,
                Area& free);

  std::vector<TreemapItem> items_;
  std::vector<Box> boxes_;
  double perPixel_ = 0;  ///< value that corresponds to a pixel
};

}  // namespace pipescope::geometry
