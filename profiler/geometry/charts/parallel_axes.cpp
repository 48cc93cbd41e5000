#include "profiler/geometry/charts/parallel_axes.h"

#include <cmath>
#include <limits>

#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {

constexpr int kAxesSide = 60, kAxesTop = 42, kAxesBottom = 26, kAxesText = 16, kAxesNear = 5,
              kMostAxisWords = 12;

/// The distance of a point from a piece of a line.
double distanceTo(double px, double py, double x1, double y1, double x2, double y2) {
  const double dx = x2 - x1, dy = y2 - y1, square = dx * dx + dy * dy;
  const double along = square > 0 ? std::clamp(((px - x1) * dx + (py - y1) * dy) / square, 0.0, 1.0) : 0;
  return std::hypot(px - (x1 + along * dx), py - (y1 + along * dy));
}

}  // namespace

ParallelAxes::ParallelAxes(std::vector<ParallelAxis> axes, std::vector<ParallelLine> lines, int width,
                           int height)
    : axes_(std::move(axes)),
      lines_(std::move(lines)),
      width_(std::max(width, 2 * kAxesSide + 20)),
      height_(std::max(height, kAxesTop + kAxesBottom + 20)) {
  for (const ParallelAxis& axis : axes_) {
    double least = std::numeric_limits<double>::max(), most = -least;
    for (const double value : axis.values) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    ranges_.emplace_back(least, most);
  }
}

int ParallelAxes::xOf(std::size_t axis) const {
  const int room = width_ - 2 * kAxesSide, steps = std::max(1, static_cast<int>(axes_.size()) - 1);
  return kAxesSide + static_cast<int>(axis) * room / steps;
}

int ParallelAxes::yOf(std::size_t axis, double value) const {
  const auto [least, most] = ranges_[axis];
  const double share = most > least ? (value - least) / (most - least) : 0.5;
  return kAxesTop + static_cast<int>(std::lround((1 - share) * (height_ - kAxesTop - kAxesBottom)));
}

std::vector<ParallelAxes::Place> ParallelAxes::placesOf(std::size_t line) const {
  std::vector<Place> places;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const double value = at(axes_[a].values, line);
    if (std::isfinite(value)) places.push_back({xOf(a), yOf(a, value)});
  }
  return places;
}

Box ParallelAxes::boxOf(int line) const {
  constexpr int kSize = 8;
  const std::vector<Place> places = placesOf(static_cast<std::size_t>(line));
  if (places.empty()) return {};
  return {places.front().x - kSize / 2, places.front().y - kSize / 2, kSize, kSize};
}

bool ParallelAxes::meets(int line, const Box& part) const {
  return std::ranges::any_of(placesOf(static_cast<std::size_t>(line)),
                             [&](const Place& place) { return part.contains(place.x, place.y); });
}

void ParallelAxes::drawLine(Shapes& shapes, std::size_t line, ColourRole role, bool strong) const {
  const std::vector<Place> places = placesOf(line);
  for (std::size_t i = 1; i < places.size(); ++i)
    shapes.lines.push_back({places[i - 1].x, places[i - 1].y, places[i].x, places[i].y, role, strong});
}

Shapes ParallelAxes::draw(const TextMeasure& measure, int marked) const {
  Shapes shapes;
  for (const bool front : {false, true}) {
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (lines_[i].front == front) drawLine(shapes, i, lines_[i].role, front);
  }
  if (marked >= 0 && marked < static_cast<int>(lines_.size()))
    drawLine(shapes, static_cast<std::size_t>(marked), ColourRole::critical, true);
  const int pitch = axes_.size() > 1 ? xOf(1) - xOf(0) : width_ - kAxesSide;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const ParallelAxis& axis = axes_[a];
    const int x = xOf(a);
    shapes.lines.push_back({x, kAxesTop, x, height_ - kAxesBottom, ColourRole::idle, true});
    const auto label = [&](int y, const std::string& whole) {
      const std::string text = fitText(whole, pitch - 6, measure);
      const int wide = measure.width(text) + 4;
      shapes.labels.push_back({{std::clamp(x - wide / 2, 0, std::max(0, width_ - wide)), y, wide, kAxesText},
                               text,
                               ColourRole::idle});
    };
    label(2, axis.name);
    const auto [least, most] = ranges_[a];
    if (least > most) continue;  // no line has a value here
    if (axis.words.empty()) {
      label(kAxesTop - kAxesText - 4, axis.format(most));
      if (most > least) label(height_ - kAxesText - 4, axis.format(least));
      continue;
    }
    if (axis.words.size() > kMostAxisWords) continue;
    for (std::size_t w = 0; w < axis.words.size(); ++w)
      label(yOf(a, static_cast<double>(w)) - kAxesText - 1, axis.words[w]);
  }
  return shapes;
}

int ParallelAxes::hit(int x, int y) const {
  int nearest = -1;
  double least = kAxesNear;
  for (const bool front : {true, false}) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].front != front) continue;
      const std::vector<Place> places = placesOf(i);
      for (std::size_t k = 1; k < places.size(); ++k) {
        const double distance = distanceTo(x, y, places[k - 1].x, places[k - 1].y, places[k].x, places[k].y);
        if (distance < least) least = distance, nearest = static_cast<int>(i);
      }
    }
    if (nearest >= 0) return nearest;
  }
  return nearest;
}

}  // namespace pipescope::geometry
