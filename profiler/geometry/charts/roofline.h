#pragma once
// A roofline chart: FLOP per byte against FLOP/s on logarithmic axes, with what bounds them.
#include <string>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct RooflinePoint {
  double flopPerByte = 0, flopsPerSecond = 0;  ///< > 0, otherwise the point is not drawn
  double weight = 0;                           ///< 0…1: the share of the time, which the size follows
  ColourRole role = ColourRole::series;
};

struct RooflineCeiling {
  std::string name;
  double rate = 0;       ///< FLOP/s, or bytes per second
  bool compute = false;  ///< a horizontal line; otherwise a slope
};

class Roofline {
 public:
  Roofline() = default;
  Roofline(std::vector<RooflinePoint> points, std::vector<RooflineCeiling> ceilings, int width, int height);

  Shapes draw(const TextMeasure& measure, int marked = -1) const;
  /// The point that is drawn at or near the position; −1: none.
  int hit(int x, int y) const;
  /// The box of a point; empty if it is not drawn.
  Box boxOf(int point) const;
  /// True if there is a point to draw.
  bool any() const { return any_; }

 private:
  /// A logarithmic axis from 10^first to 10^last.
  struct Axis {
    double first = 0, last = 1;
    double place(double value) const;
  };
  bool isShown(const RooflinePoint& point) const;
  int xOf(double flopPerByte) const;
  int yOf(double flopsPerSecond) const;
  void drawAxes(Shapes& shapes, const TextMeasure& measure) const;
  void drawCeilings(Shapes& shapes, const TextMeasure& measure) const;
  void drawSlope(Shapes& shapes, const RooflineCeiling& ceiling, std::size_t index,
                 const TextMeasure& measure) const;

  std::vector<RooflinePoint> points_;
  std::vector<RooflineCeiling> ceilings_;
  int width_ = 0, height_ = 0;
  bool any_ = false;
  Axis x_, y_;
  double peak_ = 0;  ///< the largest compute ceiling
};

}  // namespace pipescope::geometry
