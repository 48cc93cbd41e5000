#include "profiler/geometry/charts/lifetimes.h"

#include <cmath>

#include "profiler/geometry/element.h"
#include "profiler/geometry/timeline/time_axis.h"

namespace pipescope::geometry {
namespace {
constexpr int kLifeRow = 18, kLifeBar = 12, kLifeAxis = 20, kMostLifeNames = 340, kLifeNotes = 74,
              kLifeEdge = 8, kLifeTickRoom = 70;
}  // namespace

LifeChart::LifeChart(std::vector<LifeRow> rows, std::int64_t steps, std::int64_t first, std::int64_t last,
                     int width)
    : rows_(std::move(rows)),
      steps_(std::max<std::int64_t>(1, steps)),
      first_(first),
      last_(std::max(first, last)),
      width_(width),
      names_(std::min(kMostLifeNames, width / 3)),
      notes_(kLifeNotes) {}

int LifeChart::heightOf(std::size_t rows) {
  return kLifeAxis + static_cast<int>(rows) * kLifeRow + kLifeEdge;
}

int LifeChart::xOf(std::int64_t step) const {
  const int from = names_ + notes_, room = std::max(1, width_ - from - kLifeEdge);
  const double share =
      static_cast<double>(std::clamp<std::int64_t>(step, 0, steps_)) / static_cast<double>(steps_);
  return from + static_cast<int>(std::lround(share * room));
}

Box LifeChart::boxOf(int row) const {
  return {0, kLifeAxis + row * kLifeRow, width_, kLifeRow};
}

Box LifeChart::barOf(int row, std::size_t span) const {
  const auto [from, to] = at(rows_, row).spans[span];
  const int left = xOf(from), right = std::max(left + 1, xOf(to));
  return {left, boxOf(row).y + (kLifeRow - kLifeBar) / 2, right - left, kLifeBar};
}

std::int64_t LifeChart::stepAt(int x) const {
  const int from = names_ + notes_, room = std::max(1, width_ - from - kLifeEdge);
  if (x < from || x >= from + room) return -1;
  const double share = (x - from + 0.5) / room;
  return std::min(steps_ - 1, static_cast<std::int64_t>(share * static_cast<double>(steps_)));
}

int LifeChart::hit(int x, int y) const {
  if (x < 0 || x >= width_ || y < kLifeAxis) return -1;
  const int row = (y - kLifeAxis) / kLifeRow;
  return row < static_cast<int>(rows_.size()) ? row : -1;
}

Shapes LifeChart::draw(const TextMeasure& measure, int marked) const {
  Shapes shapes;
  const int bottom = kLifeAxis + static_cast<int>(rows_.size()) * kLifeRow;
  if (first_ >= 0) {
    const int left = xOf(first_);
    shapes.ground(ColourRole::free, {left, 0, std::max(2, xOf(last_ + 1) - left), bottom});
  }
  const int room = std::max(1, width_ - names_ - notes_ - kLifeEdge);
  const auto by =
      static_cast<std::int64_t>(std::max(1.0, niceStep(static_cast<double>(steps_) * kLifeTickRoom / room)));
  for (std::int64_t step = 0; step < steps_; step += by) {
    const int x = xOf(step);
    shapes.ground(ColourRole::gaps, {x, kLifeAxis - 4, 1, bottom - kLifeAxis + 4});  // below the bars
    const std::string number = groupedNumber(step);
    const int wide = measure.width(number) + 2;
    if (x + wide <= width_) shapes.labels.push_back({{x, 0, wide, kLifeAxis - 5}, number, ColourRole::idle});
  }
  for (int i = 0; i < static_cast<int>(rows_.size()); ++i) {
    const LifeRow& row = at(rows_, i);
    const Box box = boxOf(i);
    const std::string name = fitPath(row.name, names_ - kLifeEdge, measure);
    shapes.labels.push_back({{4, box.y, measure.width(name) + 2, kLifeRow}, name, ColourRole::idle});
    const int wide = measure.width(row.note) + 2;
    shapes.labels.push_back(
        {{names_ + notes_ - kLifeEdge - wide, box.y, wide, kLifeRow}, row.note, ColourRole::idle});
    for (std::size_t span = 0; span < row.spans.size(); ++span) shapes.fill(row.role, barOf(i, span));
    if (i == marked) shapes.outlines.push_back({{0, box.y, width_ - 1, kLifeRow - 1}, ColourRole::critical});
  }
  return shapes;
}

}  // namespace pipescope::geometry
