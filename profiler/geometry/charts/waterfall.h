#pragma once
// A waterfall: how a value becomes another one by changes that add up to the difference.
#include <functional>
#include <string>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct WaterfallColumn {
  std::string name;
  double value = 0;    ///< value of a total, or change
  bool total = false;  ///< the column begins at 0
};

class Waterfall {
 public:
  using Format = std::function<std::string(double value, bool change)>;

  Waterfall() = default;
  /// `judged`: a change to less is for the better, and has another colour than a change to more.
  Waterfall(std::vector<WaterfallColumn> columns, int width, int height, Format format, bool judged = true);

  Shapes draw(const TextMeasure& measure, int marked = -1) const;
  int hit(int x, int y) const;  ///< index of the column; −1: none
  /// The box of a column's bar.
  Box boxOf(int column) const;
  /// The values between which a change leads.
  std::pair<double, double> endsOf(int column) const;

 private:
  int yOf(double value) const;

  std::vector<WaterfallColumn> columns_;
  std::vector<std::pair<double, double>> ends_;
  int width_ = 0, height_ = 0;
  int bottom_ = 0;  ///< height of the names, which may have two lines
  double least_ = 0, most_ = 1;
  Format format_;
  bool judged_ = true;
};

}  // namespace pipescope::geometry
