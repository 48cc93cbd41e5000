#include "profiler/geometry/charts/scatter_plot.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {

constexpr int kScatterLeft = 84, kScatterBottom = 38, kScatterTop = 24, kScatterRight = 24, kScatterNear = 5,
              kScatterPoint = 8, kFrontPoint = 12, kScatterText = 16, kTickRoom = 90, kTickHeight = 28;

/// The least distance of ticks that three digits can tell: a quarter below 10 MiB, a half below 100 MiB.
double leastBinaryTick(double most) {
  constexpr double kUnit = 1024;
  const double unit = most >= 1 ? std::pow(kUnit, std::floor(std::log2(most) / std::log2(kUnit))) : 1;
  const double amount = most / unit;
  return unit * (amount >= 100 ? 1 : amount >= 10 ? 0.5 : 0.25);
}

}  // namespace

/// A range that holds both values, and ticks at 1, 2 or 5 times a power of ten, or at a power of two.
ScatterPlot::Range ScatterPlot::around(double least, double most, int ticks, bool binary) {
  double length = most - least;
  if (!(length > 0)) length = std::max(std::abs(most), 1.0) * 0.2;
  const double rough = length / std::max(1, ticks);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  Range range;
  range.tick = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough) range.tick = factor * power;
  if (binary) range.tick = std::max(std::exp2(std::ceil(std::log2(rough))), leastBinaryTick(most));
  const double margin = 0.04 * length;
  range.from = least >= 0 ? std::max(0.0, least - margin) : least - margin;
  range.to = most + margin;
  return range;
}

bool ScatterPlot::isShown(const ScatterPoint& point) const {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

ScatterPlot::ScatterPlot(std::vector<ScatterPoint> points, FigureAxis x, FigureAxis y, int width, int height)
    : points_(std::move(points)),
      acrossAxis_(std::move(x)),
      upAxis_(std::move(y)),
      width_(std::max(width, kScatterLeft + kScatterRight + 20)),
      height_(std::max(height, kScatterTop + kScatterBottom + 20)) {
  double left = std::numeric_limits<double>::max(), right = -left, low = left, high = -left;
  for (const ScatterPoint& point : points_) {
    if (!isShown(point)) continue;
    any_ = true;
    left = std::min(left, point.x);
    right = std::max(right, point.x);
    low = std::min(low, point.y);
    high = std::max(high, point.y);
  }
  if (!any_) return;
  across_ = around(left, right, (width_ - kScatterLeft - kScatterRight) / kTickRoom, acrossAxis_.binary);
  up_ = around(low, high, (height_ - kScatterTop - kScatterBottom) / kTickHeight, upAxis_.binary);
}

int ScatterPlot::xOf(double value) const {
  const int room = width_ - kScatterLeft - kScatterRight;
  const double share = (value - across_.from) / (across_.to - across_.from);
  return kScatterLeft + static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * room));
}

int ScatterPlot::yOf(double value) const {
  const int room = height_ - kScatterTop - kScatterBottom;
  const double share = (value - up_.from) / (up_.to - up_.from);
  return kScatterTop + static_cast<int>(std::lround((1 - std::clamp(share, 0.0, 1.0)) * room));
}

Box ScatterPlot::boxOf(int index) const {
  const ScatterPoint& point = at(points_, index);
  if (!isShown(point)) return {};
  const int size = point.front ? kFrontPoint : kScatterPoint;
  return {xOf(point.x) - size / 2, yOf(point.y) - size / 2, size, size};
}

void ScatterPlot::drawAxes(Shapes& shapes, const TextMeasure& measure) const {
  const int bottom = height_ - kScatterBottom, right = width_ - kScatterRight;
  int free = 0;
  for (double tick = std::ceil(across_.from / across_.tick) * across_.tick; tick <= across_.to;
       tick += across_.tick) {
    const int x = xOf(tick);
    shapes.ground(ColourRole::dimmed, {x, kScatterTop, 1, bottom - kScatterTop});  // behind the points
    const std::string text = acrossAxis_.format(tick);
    const int wide = measure.width(text) + 4, from = std::min(x - wide / 2, width_ - wide);
    if (from < free) continue;
    free = from + wide + 6;
    shapes.labels.push_back({{from, bottom + 2, wide, kScatterText}, text, ColourRole::idle});
  }
  for (double tick = std::ceil(up_.from / up_.tick) * up_.tick; tick <= up_.to; tick += up_.tick) {
    const int y = yOf(tick);
    shapes.ground(ColourRole::dimmed, {kScatterLeft, y, right - kScatterLeft, 1});
    const std::string text = fitText(upAxis_.format(tick), kScatterLeft - 8, measure);
    const int wide = measure.width(text) + 4;
    shapes.labels.push_back({{std::max(0, kScatterLeft - wide - 4), y - kScatterText / 2, wide, kScatterText},
                             text,
                             ColourRole::idle});
  }
  const int room = right - kScatterLeft;
  shapes.labels.push_back({{kScatterLeft, height_ - kScatterText, room, kScatterText},
                           fitText(acrossAxis_.name, room, measure),
                           ColourRole::idle});
  const std::string up = fitText(upAxis_.name, right - 4, measure);
  shapes.labels.push_back({{4, 2, measure.width(up) + 4, kScatterText}, up, ColourRole::idle});
}

void ScatterPlot::drawFront(Shapes& shapes) const {
  std::vector<std::tuple<int, int>> places;
  for (const ScatterPoint& point : points_)
    if (point.front && isShown(point)) places.emplace_back(xOf(point.x), yOf(point.y));
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    const auto [x1, y1] = places[i - 1];
    const auto [x2, y2] = places[i];
    shapes.lines.push_back({x1, y1, x2, y2, ColourRole::pathForward, true});
  }
}

Shapes ScatterPlot::draw(const TextMeasure& measure, int marked) const {
  Shapes shapes;
  if (!any_) return shapes;
  drawAxes(shapes, measure);
  drawFront(shapes);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Box box = boxOf(static_cast<int>(i));
    shapes.fill(points_[i].role, box);
    if (static_cast<int>(i) == marked && box.width > 0)
      shapes.outlines.push_back(
          {{box.x - 3, box.y - 3, box.width + 6, box.height + 6}, ColourRole::critical});
  }
  return shapes;
}

int ScatterPlot::hit(int x, int y) const {
  int nearest = -1;
  double least = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Box box = boxOf(static_cast<int>(i));
    if (box.width <= 0) continue;
    const Box around{box.x - kScatterNear, box.y - kScatterNear, box.width + 2 * kScatterNear,
                     box.height + 2 * kScatterNear};
    if (!around.contains(x, y)) continue;
    const double distance = std::hypot(x - (box.x + box.width / 2.0), y - (box.y + box.height / 2.0));
    if (distance < least) least = distance, nearest = static_cast<int>(i);
  }
  return nearest;
}

}  // namespace pipescope::geometry
