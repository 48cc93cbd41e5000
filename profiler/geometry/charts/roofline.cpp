#include "profiler/geometry/charts/roofline.h"

#include <cmath>
#include <limits>

namespace pipescope::geometry {
namespace {

constexpr int kRooflineLeft = 62, kRooflineBottom = 36, kRooflineTop = 10, kRooflineRight = 12, kNear = 6,
              kSmallPoint = 6, kLargePoint = 22, kTextLine = 16;

/// "10 G" for 10^10.
std::string decade(int exponent) {
  static constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P", " E"};
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + "1";
  const int prefix = std::min(exponent / 3, 6);
  return "1" + std::string(static_cast<std::size_t>(exponent - 3 * prefix), '0') + kPrefixes[prefix];
}

bool isPositive(double value) {
  return value > 0 && std::isfinite(value);
}

}  // namespace

double Roofline::Axis::place(double value) const {
  return (std::log10(value) - first) / (last - first);
}

bool Roofline::isShown(const RooflinePoint& point) const {
  return isPositive(point.flopPerByte) && isPositive(point.flopsPerSecond);
}

Roofline::Roofline(std::vector<RooflinePoint> points, std::vector<RooflineCeiling> ceilings, int width,
                   int height)
    : points_(std::move(points)),
      ceilings_(std::move(ceilings)),
      width_(std::max(width, kRooflineLeft + kRooflineRight + 20)),
      height_(std::max(height, kRooflineTop + kRooflineBottom + 20)) {
  std::erase_if(ceilings_, [](const RooflineCeiling& ceiling) { return !isPositive(ceiling.rate); });
  double left = std::numeric_limits<double>::max(), right = 0, low = left, high = 0;
  const auto include = [](double value, double& least, double& most) {
    least = std::min(least, value);
    most = std::max(most, value);
  };
  for (const RooflinePoint& point : points_) {
    if (!isShown(point)) continue;
    any_ = true;
    include(point.flopPerByte, left, right);
    include(point.flopsPerSecond, low, high);
  }
  if (!any_) return;
  for (const RooflineCeiling& ceiling : ceilings_) {
    if (ceiling.compute) peak_ = std::max(peak_, ceiling.rate), high = std::max(high, ceiling.rate);
  }
  // The ridge, where a memory's slope meets the peak, is part of the picture.
  for (const RooflineCeiling& ceiling : ceilings_) {
    if (!ceiling.compute && peak_ > 0) include(peak_ / ceiling.rate, left, right);
  }
  const auto around = [](double least, double most) {
    return Axis{std::floor(std::log10(least) - 0.05), std::ceil(std::log10(most) + 0.05)};
  };
  x_ = around(left, right);
  y_ = around(low, high);
}

int Roofline::xOf(double flopPerByte) const {
  const int room = width_ - kRooflineLeft - kRooflineRight;
  return kRooflineLeft + static_cast<int>(std::lround(std::clamp(x_.place(flopPerByte), 0.0, 1.0) * room));
}

int Roofline::yOf(double flopsPerSecond) const {
  const int room = height_ - kRooflineTop - kRooflineBottom;
  return kRooflineTop +
         static_cast<int>(std::lround((1 - std::clamp(y_.place(flopsPerSecond), 0.0, 1.0)) * room));
}

Box Roofline::boxOf(int index) const {
  const RooflinePoint& point = points_[static_cast<std::size_t>(index)];
  if (!isShown(point)) return {};
  const double weight = std::clamp(point.weight, 0.0, 1.0);
  const int size =
      kSmallPoint + static_cast<int>(std::lround(std::sqrt(weight) * (kLargePoint - kSmallPoint)));
  return {xOf(point.flopPerByte) - size / 2, yOf(point.flopsPerSecond) - size / 2, size, size};
}

void Roofline::drawAxes(Shapes& shapes, const TextMeasure& measure) const {
  const int bottom = height_ - kRooflineBottom, right = width_ - kRooflineRight;
  int free = 0;
  for (int e = static_cast<int>(x_.first); e <= static_cast<int>(x_.last); ++e) {
    const int x = xOf(std::pow(10.0, e));
    shapes.lines.push_back({x, kRooflineTop, x, bottom, ColourRole::dimmed});
    const std::string text = decade(e);
    const int wide = measure.width(text) + 4;
    const int at = std::min(x - wide / 2, width_ - wide);
    if (at < free) continue;
    free = at + wide + 6;
    shapes.labels.push_back({{at, bottom + 2, wide, kTextLine}, text, ColourRole::idle});
  }
  int above = std::numeric_limits<int>::max();
  for (int e = static_cast<int>(y_.first); e <= static_cast<int>(y_.last); ++e) {
    const int y = yOf(std::pow(10.0, e));
    shapes.lines.push_back({kRooflineLeft, y, right, y, ColourRole::dimmed});
    const std::string text = decade(e);
    const int wide = measure.width(text) + 4;
    if (y + kTextLine / 2 > above) continue;
    above = y - kTextLine / 2;
    shapes.labels.push_back(
        {{kRooflineLeft - wide - 4, y - kTextLine / 2, wide, kTextLine}, text, ColourRole::idle});
  }
  const std::string across = "FLOP per byte of operands and results", up = "FLOP/s";
  shapes.labels.push_back({{kRooflineLeft, height_ - kTextLine, right - kRooflineLeft, kTextLine},
                           fitText(across, right - kRooflineLeft, measure),
                           ColourRole::idle});
  shapes.labels.push_back({{2, height_ - kTextLine, measure.width(up) + 4, kTextLine}, up, ColourRole::idle});
}

/// A memory's rate times the FLOP per byte, up to the peak.
void Roofline::drawSlope(Shapes& shapes, const RooflineCeiling& ceiling, std::size_t index,
                         const TextMeasure& measure) const {
  const double least = std::pow(10.0, y_.first), most = peak_ > 0 ? peak_ : std::pow(10.0, y_.last);
  const double from = std::max(std::pow(10.0, x_.first), least / ceiling.rate),
               to = std::min(std::pow(10.0, x_.last), most / ceiling.rate);
  if (from >= to) return;
  const ColourRole role = seriesRole(static_cast<int>(index));
  const int x1 = xOf(from), y1 = yOf(from * ceiling.rate), x2 = xOf(to), y2 = yOf(to * ceiling.rate);
  shapes.lines.push_back({x1, y1, x2, y2, role, true});
  const int wide = measure.width(ceiling.name) + 6;
  const int row = static_cast<int>(index) * (kTextLine + 2);
  const int middle = (x1 + x2) / 2, x = std::clamp(middle - wide - 4, kRooflineLeft, width_ - wide);
  shapes.labels.push_back({{x, std::max(kRooflineTop, (y1 + y2) / 2 - kTextLine - row), wide, kTextLine},
                           ceiling.name,
                           ColourRole::idle});
}

void Roofline::drawCeilings(Shapes& shapes, const TextMeasure& measure) const {
  double ridge = std::pow(10.0, x_.first);
  bool slope = false;
  for (const RooflineCeiling& ceiling : ceilings_) {
    if (ceiling.compute) continue;
    const double own = peak_ > 0 ? peak_ / ceiling.rate : ridge;
    ridge = slope ? std::min(ridge, own) : own;
    slope = true;
  }
  for (std::size_t i = 0; i < ceilings_.size(); ++i) {
    const RooflineCeiling& ceiling = ceilings_[i];
    if (!ceiling.compute) {
      drawSlope(shapes, ceiling, i, measure);
      continue;
    }
    const int y = yOf(ceiling.rate), wide = measure.width(ceiling.name) + 6;
    shapes.lines.push_back(
        {xOf(ridge), y, width_ - kRooflineRight, y, seriesRole(static_cast<int>(i)), true});
    shapes.labels.push_back(
        {{width_ - kRooflineRight - wide, y + 2, wide, kTextLine}, ceiling.name, ColourRole::idle});
  }
}

Shapes Roofline::draw(const TextMeasure& measure, int marked) const {
  Shapes shapes;
  if (!any_) return shapes;
  drawAxes(shapes, measure);
  drawCeilings(shapes, measure);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Box box = boxOf(static_cast<int>(i));
    shapes.fill(points_[i].role, box);
    if (static_cast<int>(i) == marked)
      shapes.outlines.push_back(
          {{box.x - 3, box.y - 3, box.width + 6, box.height + 6}, ColourRole::critical});
  }
  return shapes;
}

int Roofline::hit(int x, int y) const {
  int nearest = -1;
  double least = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Box box = boxOf(static_cast<int>(i));
    if (box.width <= 0) continue;
    const Box around{box.x - kNear, box.y - kNear, box.width + 2 * kNear, box.height + 2 * kNear};
    if (!around.contains(x, y)) continue;
    const double distance = std::hypot(x - (box.x + box.width / 2.0), y - (box.y + box.height / 2.0));
    if (distance < least) least = distance, nearest = static_cast<int>(i);
  }
  return nearest;
}

}  // namespace pipescope::geometry
