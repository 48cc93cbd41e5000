#include "profiler/geometry/charts/curves.h"

#include <algorithm>
#include <cmath>

#include "profiler/geometry/timeline/time_axis.h"

namespace pipescope::geometry {
namespace {
constexpr int kCurvesLeft = 76, kCurvesTop = 8, kCurvesBottom = 10, kCurvesRight = 8, kCurveGrid = 4,
              kCurveText = 16;
}  // namespace

StepCurves::StepCurves(std::vector<StepCurve> curves, int width, int height, Format format)
    : curves_(std::move(curves)),
      width_(std::max(width, kCurvesLeft + kCurvesRight + 8)),
      height_(std::max(height, kCurvesTop + kCurvesBottom + 8)),
      format_(std::move(format)) {
  double most = 0;
  for (const StepCurve& curve : curves_) {
    count_ = std::max(count_, static_cast<std::int64_t>(curve.values.size()));
    for (const double value : curve.values) {
      if (std::isfinite(value)) most = std::max(most, value);
    }
  }
  most_ = most > 0 ? most : 1;
}

int StepCurves::yOf(double value) const {
  const int room = height_ - kCurvesTop - kCurvesBottom;
  return kCurvesTop + static_cast<int>(std::lround((1 - std::clamp(value / most_, 0.0, 1.0)) * room));
}

std::int64_t StepCurves::indexAt(int x) const {
  const std::int64_t room = width_ - kCurvesLeft - kCurvesRight;
  if (count_ == 0 || x < kCurvesLeft || x >= kCurvesLeft + room) return -1;
  return std::min(count_ - 1, (x - kCurvesLeft) * count_ / room);
}

void StepCurves::drawCurve(const StepCurve& curve, std::vector<int>& tops, Shapes& shapes) const {
  const std::int64_t room = width_ - kCurvesLeft - kCurvesRight;
  const auto size = static_cast<std::int64_t>(curve.values.size());
  int last = -1;
  for (std::int64_t px = 0; px < room; ++px) {
    const std::int64_t first = px * count_ / room, end = std::max(first + 1, (px + 1) * count_ / room);
    if (first >= size) break;
    double low = curve.values[static_cast<std::size_t>(first)], high = low;
    for (std::int64_t i = first; i < std::min(end, size); ++i) {
      low = std::min(low, curve.values[static_cast<std::size_t>(i)]);
      high = std::max(high, curve.values[static_cast<std::size_t>(i)]);
    }
    const int x = kCurvesLeft + static_cast<int>(px);
    int top = yOf(high), bottom = yOf(low);
    if (last >= 0) top = std::min(top, last), bottom = std::max(bottom, last);
    // An area lies behind the curves. A column of the area ends where its own values do, so that steps have
    // straight edges.
    if (curve.filled) tops[static_cast<std::size_t>(px)] = yOf(high);
    curve.filled ? shapes.ground(curve.role, {x, yOf(high), 1, yOf(0) - yOf(high)})
                 : shapes.fill(curve.role, {x, top, 1, bottom - top + 2});
    last = yOf(curve.values[static_cast<std::size_t>(std::min(end, size) - 1)]);
  }
}

/// Lines are painted last, so the grid leaves out the columns whose areas it would cross.
void StepCurves::drawGrid(int y, const std::vector<int>& tops, Shapes& shapes) const {
  const auto isFree = [&](int top) { return top > y || y >= yOf(0); };
  for (auto from = tops.begin(); from != tops.end();) {
    from = std::find_if(from, tops.end(), isFree);
    const auto to = std::find_if_not(from, tops.end(), isFree);
    const auto xOf = [&](auto column) { return kCurvesLeft + static_cast<int>(column - tops.begin()); };
    if (from != to) shapes.lines.push_back({xOf(from), y, xOf(to), y, ColourRole::dimmed});
    from = to;
  }
}

Shapes StepCurves::draw(const TextMeasure& measure) const {
  Shapes shapes;
  std::vector<int> tops(static_cast<std::size_t>(width_ - kCurvesLeft - kCurvesRight), height_);
  for (const StepCurve& curve : curves_) {
    if (count_ > 0) drawCurve(curve, tops, shapes);
  }
  const double step = niceBytesStep(most_, kCurveGrid);
  for (double value = 0; value <= most_; value += step) {
    const int y = yOf(value);
    drawGrid(y, tops, shapes);
    const std::string text = fitText(format_(value), kCurvesLeft - 8, measure);
    const int wide = measure.width(text) + 4;
    const int top = std::clamp(y - kCurveText / 2, 0, height_ - kCurveText);
    shapes.labels.push_back({{kCurvesLeft - wide - 4, top, wide, kCurveText}, text, ColourRole::idle});
  }
  return shapes;
}

}  // namespace pipescope::geometry
