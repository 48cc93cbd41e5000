#pragma once
// Parallel coordinates: one vertical axis for each figure, and one line for each thing.
#include <string>
#include <vector>

#include "profiler/geometry/charts/scatter_plot.h"

namespace pipescope::geometry {

/// An axis with the value of each thing. If `words` has entries, values are positions in it.
struct ParallelAxis {
  std::string name;
  std::vector<double> values;  ///< not finite: the line leaves this axis out
  std::vector<std::string> words;
  std::function<std::string(double)> format = {};
};

struct ParallelLine {
  ColourRole role = ColourRole::series;
  bool front = false;  ///< drawn above the others, and stronger
};

class ParallelAxes {
 public:
  ParallelAxes() = default;
  /// Each axis has one value for each line.
  ParallelAxes(std::vector<ParallelAxis> axes, std::vector<ParallelLine> lines, int width, int height);

  Shapes draw(const TextMeasure& measure, int marked = -1) const;
  /// The line that passes at or near the position; −1: none. Lines of the front come first.
  int hit(int x, int y) const;
  /// Returns the place where a line meets the first axis that it has a value for; empty: it has none.
  Box boxOf(int line) const;
  /// True if a line crosses one of the axes within the rectangle.
  bool meets(int line, const Box& part) const;

 private:
  struct Place {
    int x = 0, y = 0;
  };
  int xOf(std::size_t axis) const;
  int yOf(std::size_t axis, double value) const;
  std::vector<Place> placesOf(std::size_t line) const;
  void drawLine(Shapes& shapes, std::size_t line, ColourRole role, bool strong) const;

  std::vector<ParallelAxis> axes_;
  std::vector<ParallelLine> lines_;
  std::vector<std::pair<double, double>> ranges_;
  int width_ = 0, height_ = 0;
};

}  // namespace pipescope::geometry
