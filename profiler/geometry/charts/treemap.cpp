#include "profiler/geometry/charts/treemap.h"

#include <cmath>
#include <numeric>

namespace pipescope::geometry {
namespace {

constexpr int kTreemapPadding = 3, kTreemapGap = 1, kSetOffFrom = 4;

double areaOf(const TreemapItem& item) {
  return std::isfinite(item.value) ? std::max(0.0, item.value) : 0.0;
}

/// The larger ratio of sides in a row of areas with this sum, along a side of this length. 1 is a square.
double worstRatio(double smallest, double largest, double sum, double side) {
  const double square = side * side, sums = sum * sum;
  return std::max(square * largest / sums, sums / (square * smallest));
}

}  // namespace

Treemap::Treemap(std::vector<TreemapItem> items, int width, int height)
    : items_(std::move(items)), boxes_(items_.size()) {
  double whole = 0;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!(areaOf(items_[i]) > 0)) continue;
    order.push_back(i);
    whole += areaOf(items_[i]);
  }
  if (!(whole > 0) || !std::isfinite(whole) || width <= 0 || height <= 0) return;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return items_[a].value > items_[b].value; });
  perPixel_ = whole / (static_cast<double>(width) * height);
  Area free{0, 0, static_cast<double>(width), static_cast<double>(height)};
  for (std::size_t first = 0; first < order.size();) {
    const auto pixels = [&](std::size_t at) { return areaOf(items_[order[at]]) / perPixel_; };
    const double side = std::max(1e-9, std::min(free.width, free.height)), largest = pixels(first);
    std::size_t end = first + 1;
    double sum = largest, worst = worstRatio(largest, largest, sum, side);
    for (; end < order.size(); ++end) {
      const double next = worstRatio(pixels(end), largest, sum + pixels(end), side);
      if (next > worst) break;
      worst = next;
      sum += pixels(end);
    }
    placeRow(order, first, end, sum, free);
    first = end;
  }
}

/// Places a row of items along the shorter side of the free area. The ends are rounded, not the sizes, so
/// that the boxes leave no gaps.
void Treemap::placeRow(const std::vector<std::size_t>& order, std::size_t first, std::size_t end, double sum,
                       Area& free) {
  const bool upright = free.height <= free.width;  // the row is a column at the left
  const double side = upright ? free.height : free.width, depth = side > 0 ? sum / side : 0;
  double at = upright ? free.y : free.x;
  const auto whole = [](double value) { return static_cast<int>(std::lround(value)); };
  for (std::size_t i = first; i < end; ++i) {
    const double length = areaOf(items_[order[i]]) / perPixel_ / std::max(depth, 1e-9);
    const double x = upright ? free.x : at, y = upright ? at : free.y;
    const double right = upright ? free.x + depth : at + length,
                 below = upright ? at + length : free.y + depth;
    boxes_[order[i]] = {whole(x), whole(y), whole(right) - whole(x), whole(below) - whole(y)};
    at += length;
  }
  (upright ? free.x : free.y) += depth;
  (upright ? free.width : free.height) -= depth;
}

Shapes Treemap::draw(const TextMeasure& measure, int marked) const {
  Shapes shapes;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    Box box = boxes_[i];
    if (box.width <= 0 || box.height <= 0) continue;
    if (box.width >= kSetOffFrom) box.width -= kTreemapGap;
    if (box.height >= kSetOffFrom) box.height -= kTreemapGap;
    shapes.fill(items_[i].role, box);
    if (box.height >= kLowestText) {
      std::string text = fitPath(items_[i].label, box.width - 2 * kTreemapPadding, measure);
      if (!text.empty()) shapes.labels.push_back({box, std::move(text), items_[i].role});
    }
    if (static_cast<int>(i) == marked) shapes.outlines.push_back({box, ColourRole::critical});
  }
  return shapes;
}

int Treemap::hit(int x, int y) const {
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (boxes_[i].contains(x, y)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace pipescope::geometry
