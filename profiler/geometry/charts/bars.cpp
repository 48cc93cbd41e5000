#include "profiler/geometry/charts/bars.h"

#include <algorithm>
#include <cmath>

#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {
constexpr int kBarPadding = 4, kBarSetOff = 5;
double positive(double value) {
  return std::isfinite(value) ? std::max(0.0, value) : 0.0;
}
}  // namespace

double Bar::total() const {
  double sum = 0;
  for (const BarPart& part : parts) sum += positive(part.value);
  return sum;
}

StackedBars::StackedBars(std::vector<Bar> bars, const BarMetrics& metrics)
    : bars_(std::move(bars)), metrics_(metrics) {
  scale_ = metrics.scaleTo;
  if (!(scale_ > 0)) {
    scale_ = 0;
    for (const Bar& bar : bars_) scale_ = std::max(scale_, bar.total());
  }
  if (!(scale_ > 0)) scale_ = 1;
}

int StackedBars::pixel(double value) const {
  return static_cast<int>(std::lround(std::min(1.0, value / scale_) * metrics_.width));
}

int StackedBars::height() const {
  const int count = static_cast<int>(bars_.size());
  return count == 0 ? 0 : count * metrics_.height + (count - 1) * metrics_.gap;
}

Box StackedBars::boxOf(const BarHit& part) const {
  const Bar& bar = at(bars_, part.bar);
  double before = 0;
  for (int i = 0; i < part.part; ++i) before += positive(at(bar.parts, i).value);
  const int left = pixel(before), right = pixel(before + positive(at(bar.parts, part.part).value));
  return {left, part.bar * (metrics_.height + metrics_.gap), right - left, metrics_.height};
}

Shapes StackedBars::draw(const TextMeasure& measure) const {
  Shapes shapes;
  for (std::size_t b = 0; b < bars_.size(); ++b) {
    for (std::size_t p = 0; p < bars_[b].parts.size(); ++p) {
      const BarPart& part = bars_[b].parts[p];
      const Box box = boxOf({static_cast<int>(b), static_cast<int>(p)});
      if (box.width <= 0) continue;
      const Box inner{box.x, box.y, box.width >= kBarSetOff ? box.width - 1 : box.width, box.height};
      part.hatched ? shapes.hatch(part.role, inner) : shapes.fill(part.role, inner);
      std::string text = fitText(part.label, box.width - 2 * kBarPadding, measure);
      // A figure must not be cut, because it would then read as another figure.
      if (!text.empty() && text == part.label)
        shapes.labels.push_back({inner, std::move(text), part.role, part.hatched});
    }
  }
  return shapes;
}

BarHit StackedBars::hit(int x, int y) const {
  const int pitch = metrics_.height + metrics_.gap;
  if (y < 0 || x < 0 || y % pitch >= metrics_.height || y / pitch >= static_cast<int>(bars_.size()))
    return {};
  const int bar = y / pitch;
  for (std::size_t p = 0; p < at(bars_, bar).parts.size(); ++p) {
    const BarHit part{bar, static_cast<int>(p)};
    const Box box = boxOf(part);
    if (x >= box.x && x < box.right()) return part;
  }
  return {};
}

}  // namespace pipescope::geometry
