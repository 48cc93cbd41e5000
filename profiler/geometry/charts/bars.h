#pragma once
// Stacked horizontal bars that share one scale.
#include <string>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct BarPart {
  ColourRole role = ColourRole::series;
  double value = 0;   ///< ≥ 0; other values count as 0
  std::string label;  ///< drawn if it fits
  bool hatched = false;
};

struct Bar {
  std::vector<BarPart> parts;
  double total() const;
};

struct BarMetrics {
  int width = 0;  ///< width of the longest bar, in pixels
  int height = 22, gap = 10;
  double scaleTo = 0;  ///< value that corresponds to `width`; 0: the largest total
};

/// A part of a bar; −1: none.
struct BarHit {
  int bar = -1, part = -1;
  friend bool operator==(const BarHit&, const BarHit&) = default;
};

/// Bars in rows, whose parts follow each other without gaps. The ends of the parts are rounded, not their
/// lengths, so the length of a bar corresponds to its total.
class StackedBars {
 public:
  StackedBars() = default;
  StackedBars(std::vector<Bar> bars, const BarMetrics& metrics);

  Shapes draw(const TextMeasure& measure) const;
  BarHit hit(int x, int y) const;
  Box boxOf(const BarHit& part) const;
  int height() const;
  double scale() const { return scale_; }  ///< value that corresponds to the full width
  const std::vector<Bar>& bars() const { return bars_; }

 private:
  int pixel(double value) const;
  std::vector<Bar> bars_;
  BarMetrics metrics_;
  double scale_ = 1;
};

}  // namespace pipescope::geometry
