#include "profiler/geometry/charts/waterfall.h"

#include <cmath>

#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {
constexpr int kWaterfallTop = 20, kWaterfallBottom = 24, kWaterfallGap = 12, kWaterfallText = 16,
              kWidestColumn = 120, kThinnest = 2;

/// A name that is wider than the room is broken at the last space after which its first line has room.
std::pair<std::string, std::string> twoLines(const std::string& name, int room, const TextMeasure& measure) {
  if (measure.width(name) <= room) return {name, {}};
  for (std::size_t space = name.rfind(' '); space != std::string::npos && space > 0;
       space = name.rfind(' ', space - 1)) {
    const std::string first = name.substr(0, space);
    if (measure.width(first) <= room) return {first, fitText(name.substr(space + 1), room, measure)};
  }
  return {fitText(name, room, measure), {}};
}
}  // namespace

Waterfall::Waterfall(std::vector<WaterfallColumn> columns, int width, int height, Format format, bool judged)
    : columns_(std::move(columns)),
      width_(width),
      height_(height),
      bottom_(kWaterfallBottom),
      format_(std::move(format)),
      judged_(judged) {
  for (const WaterfallColumn& column : columns_) {
    if (column.name.find(' ') != std::string::npos) bottom_ = kWaterfallBottom + kWaterfallText - 2;
  }
  double reached = 0;
  double least = 0, most = 0;
  for (const WaterfallColumn& column : columns_) {
    const double from = column.total ? 0 : reached, to = column.total ? column.value : reached + column.value;
    ends_.emplace_back(from, to);
    reached = to;
    if (!std::isfinite(to)) continue;
    least = std::min(least, to);
    most = std::max(most, to);
  }
  least_ = least;
  most_ = most > least ? most : least + 1;
}

int Waterfall::yOf(double value) const {
  const double share = std::clamp((value - least_) / (most_ - least_), 0.0, 1.0);
  const int room = std::max(1, height_ - kWaterfallTop - bottom_);
  return kWaterfallTop + static_cast<int>(std::lround((1 - (std::isfinite(share) ? share : 0)) * room));
}

std::pair<double, double> Waterfall::endsOf(int column) const {
  return at(ends_, column);
}

Box Waterfall::boxOf(int column) const {
  const int count = std::max(1, static_cast<int>(columns_.size())), pitch = width_ / count;
  const int wide = std::clamp(pitch - kWaterfallGap, 1, kWidestColumn);
  const auto [from, to] = at(ends_, column);
  const int top = std::min(yOf(from), yOf(to)), bottom = std::max(yOf(from), yOf(to));
  return {column * pitch + (pitch - wide) / 2, top, wide, std::max(kThinnest, bottom - top)};
}

Shapes Waterfall::draw(const TextMeasure& measure, int marked) const {
  Shapes shapes;
  const int count = static_cast<int>(columns_.size());
  if (count == 0) return shapes;
  const int pitch = width_ / count;
  for (int i = 0; i < count; ++i) {
    const WaterfallColumn& column = at(columns_, i);
    const Box box = boxOf(i);
    const ColourRole role = column.total                    ? ColourRole::counter
                            : !judged_ || column.value == 0 ? ColourRole::otherKind
                            : column.value > 0              ? ColourRole::lostImbalance
                                                            : ColourRole::lostUseful;
    shapes.fill(role, box);
    if (i == marked) shapes.outlines.push_back({box, ColourRole::critical});
    if (i + 1 < count) {
      const int y = yOf(at(ends_, i).second);
      shapes.lines.push_back({box.right(), y, boxOf(i + 1).x, y, ColourRole::gaps});
    }
    const std::string value = fitText(format_(column.value, !column.total), pitch, measure);
    shapes.labels.push_back({{i * pitch, std::max(0, box.y - kWaterfallText - 1), pitch, kWaterfallText},
                             value,
                             ColourRole::idle});
    const auto [first, second] = twoLines(column.name, pitch - 4, measure);
    int y = height_ - bottom_ + kWaterfallBottom - kWaterfallText - 2;
    for (const std::string& line : {first, second}) {
      if (!line.empty())
        shapes.labels.push_back({{i * pitch, y, pitch, kWaterfallText}, line, ColourRole::idle});
      y += kWaterfallText - 2;
    }
  }
  return shapes;
}

int Waterfall::hit(int x, int y) const {
  const int count = static_cast<int>(columns_.size());
  if (count == 0 || x < 0 || y < 0 || y >= height_) return -1;
  const int column = x / std::max(1, width_ / count);
  return column < count ? column : -1;
}

}  // namespace pipescope::geometry
