#pragma once
// Lives of variables: a row for each variable with bars over the program steps in which it is live.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct LifeRow {
  std::string name;  ///< a name path
  std::string note;  ///< its bytes
  ColourRole role = ColourRole::series;
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;  ///< steps, each up to the one after the last
};

/// The height of the chart follows from the number of rows. Bars are at least one pixel wide.
class LifeChart {
 public:
  LifeChart() = default;
  /// `first` to `last`: the selected steps, which have a ground of their own; −1: none.
  LifeChart(std::vector<LifeRow> rows, std::int64_t steps, std::int64_t first, std::int64_t last, int width);

  /// The marked row has an outline; −1: none.
  Shapes draw(const TextMeasure& measure, int marked = -1) const;
  int hit(int x, int y) const;  ///< index of the row; −1: none
  /// The whole row.
  Box boxOf(int row) const;
  /// The bar of a span of a row.
  Box barOf(int row, std::size_t span) const;
  /// The program step at a place of the axis; −1: none.
  std::int64_t stepAt(int x) const;
  /// The height of so many rows with the axis above them.
  static int heightOf(std::size_t rows);

 private:
  int xOf(std::int64_t step) const;

  std::vector<LifeRow> rows_;
  std::int64_t steps_ = 1, first_ = -1, last_ = -1;
  int width_ = 0, names_ = 0, notes_ = 0;
};

}  // namespace pipescope::geometry
