#pragma once
// Curves of steps over each other, on one axis of indices and one of bytes.
#include <functional>
#include <string>
#include <vector>

#include "profiler/geometry/shapes.h"

namespace pipescope::geometry {

struct StepCurve {
  ColourRole role = ColourRole::series;
  std::vector<double> values;  ///< bytes at each index
  bool filled = false;         ///< the area below the curve is filled
};

/// Each curve is drawn by column of pixels, from the least to the largest value in it, so that no peak is
/// averaged away. A shorter curve ends earlier.
class StepCurves {
 public:
  using Format = std::function<std::string(double value)>;

  StepCurves() = default;
  StepCurves(std::vector<StepCurve> curves, int width, int height, Format format);

  Shapes draw(const TextMeasure& measure) const;
  /// The index at a pixel; −1: none.
  std::int64_t indexAt(int x) const;
  double most() const { return most_; }

 private:
  int yOf(double value) const;
  /// `tops`: for each column of pixels, where the area that covers it begins.
  void drawCurve(const StepCurve& curve, std::vector<int>& tops, Shapes& shapes) const;
  void drawGrid(int y, const std::vector<int>& tops, Shapes& shapes) const;

  std::vector<StepCurve> curves_;
  int width_ = 0, height_ = 0;
  std::int64_t count_ = 0;
  double most_ = 1;
  Format format_;
};

}  // namespace pipescope::geometry
