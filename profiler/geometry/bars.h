#pragma once
// Stacked horizontal bars with a shared scale.
#include <string>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct BarPart {
  ColourRole role = ColourRole::series;
  double value = 0;   ///< ≥ 0; others are taken as 0
  std::string label;  ///< drawn where it fits
  bool hatched = false;
};

struct Bar {
  std::vector<BarPart> parts;
  double total() const;
};

struct BarMetrics {
  int width = 0;  ///< pixels of the longest bar
  int height = 22, gap = 10;
  double scaleTo = 0;  ///< value at `width`; 0: the largest total
};

/// What part of which bar; −1: none.
struct BarHit {
  int bar = -1, part = -1;
  friend bool operator==(const BarHit&, const BarHit&) = default;
};

/// Bars below each other. Parts follow each other without gaps: their ends are rounded, not their lengths, so
/// a bar's length is its total's.
class StackedBars {
 public:
  StackedBars() = default;
  StackedBars(std::vector<Bar> bars, const BarMetrics& metrics);

  Shapes draw(const TextMeasure& measure) const;
  BarHit hit(int x, int y) const;
  Box boxOf(const BarHit& part) const;
  int height() const;
  double scale() const { return scale_; }  ///< value at the full width
  const std::vector<Bar>& bars() const { return bars_; }

 private:
  int pixel(double value) const;
  std::vector<Bar> bars_;
  BarMetrics metrics_;
  double scale_ = 1;
};

}  // namespace pipescope::geometry
