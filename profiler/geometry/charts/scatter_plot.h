#pragma once
// A scatter chart: one point for each thing, by two of its figures, with the front of the best ones.
#include <functional>
#include <string>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct ScatterPoint {
  double x = 0, y = 0;  ///< not finite: the point is not drawn
  ColourRole role = ColourRole::series;
  bool front = false;  ///< points of the front are larger, and a line joins them
};

/// A figure of a scatter chart or of parallel axes.
struct FigureAxis {
  std::string name;
  std::function<std::string(double)> format = {};
  bool binary = false;  ///< ticks stand at powers of two, as for bytes
};

class ScatterPlot {
 public:
  ScatterPlot() = default;
  ScatterPlot(std::vector<ScatterPoint> points, FigureAxis x, FigureAxis y, int width, int height);

  Shapes draw(const TextMeasure& measure, int marked = -1) const;
  /// The point that is drawn at or near the position; −1: none.
  int hit(int x, int y) const;
  /// The box of a point; empty if it is not drawn.
  Box boxOf(int point) const;

 private:
  struct Range {
    double from = 0, to = 1, tick = 1;
  };
  static Range around(double least, double most, int ticks, bool binary);
  bool isShown(const ScatterPoint& point) const;
  int xOf(double value) const;
  int yOf(double value) const;
  void drawAxes(Shapes& shapes, const TextMeasure& measure) const;
  void drawFront(Shapes& shapes) const;

  std::vector<ScatterPoint> points_;
  FigureAxis acrossAxis_, upAxis_;
  int width_ = 0, height_ = 0;
  bool any_ = false;
  Range across_, up_;
};

}  // namespace pipescope::geometry
