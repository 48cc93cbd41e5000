#include "profiler/geometry/graph_scene.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace pipescope::geometry {
namespace {

constexpr int kSceneMargin = 24, kRegionMargin = 10, kScenePadding = 6, kLabelHeight = 14,
              kFewArcLabels = 400;
constexpr double kReadable = 0.55;  // below this scale, boxes have no room for their second line

bool overlaps(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

Box joined(const Box& a, const Box& b) {
  const int x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.right(), b.right()) - x, std::max(a.bottom(), b.bottom()) - y};
}

/// Far zooms of damaged sizes must not overflow.
int pixel(double value) {
  constexpr double kFar = 1e6;
  return static_cast<int>(std::lround(std::clamp(value, -kFar, kFar)));
}

Box placed(const GraphPlace& place, const Box& box) {
  const int x = pixel(place.x + box.x * place.scale), y = pixel(place.y + box.y * place.scale);
  return {x, y, std::max(1, pixel(place.x + box.right() * place.scale) - x),
          std::max(1, pixel(place.y + box.bottom() * place.scale) - y)};
}

}  // namespace

GraphScene::GraphScene(std::vector<SceneBox> boxes, std::vector<SceneArc> arcs)
    : boxes_(std::move(boxes)), arcs_(std::move(arcs)) {
  std::vector<GraphArc> plain;
  for (const SceneArc& arc : arcs_) plain.push_back({arc.from, arc.to});
  layout_ = layOutGraph(std::vector<GraphSize>(boxes_.size(), {kBoxWidth, kBoxHeight}), plain);
}

GraphScene::GraphScene(std::vector<SceneBox> boxes, std::vector<SceneArc> arcs, GraphLayout layout)
    : boxes_(std::move(boxes)), arcs_(std::move(arcs)), layout_(std::move(layout)) {}

GraphPlace GraphScene::whole(int width, int height) const {
  const double across = std::max(1, width - 2 * kSceneMargin), down = std::max(1, height - 2 * kSceneMargin);
  GraphPlace place;
  place.scale = std::min({1.0, across / std::max(1, layout_.width), down / std::max(1, layout_.height)});
  place.x = (width - layout_.width * place.scale) / 2;
  place.y = (height - layout_.height * place.scale) / 2;
  return place;
}

Box GraphScene::boxOf(const GraphPlace& place, int box) const {
  return placed(place, layout_.boxes[static_cast<std::size_t>(box)]);
}

/// A region is drawn only where no box of another region lies within it.
void GraphScene::drawRegions(const GraphPlace& place, Shapes& shapes) const {
  std::map<int, Box> regions;
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (boxes_[i].region < 0) continue;
    const auto [known, isNew] = regions.try_emplace(boxes_[i].region, layout_.boxes[i]);
    if (!isNew) known->second = joined(known->second, layout_.boxes[i]);
  }
  for (const auto& [region, box] : regions) {
    const Box around{box.x - kRegionMargin, box.y - kRegionMargin, box.width + 2 * kRegionMargin,
                     box.height + 2 * kRegionMargin};
    bool alone = regions.size() > 1;
    for (std::size_t i = 0; i < boxes_.size() && alone; ++i)
      alone = boxes_[i].region == region || !overlaps(around, layout_.boxes[i]);
    if (alone) shapes.ground(ColourRole::dimmed, placed(place, around));
  }
}

void GraphScene::drawArcs(const GraphPlace& place, int width, int height, const TextMeasure& measure,
                          Shapes& shapes) const {
  const Box canvas{0, 0, width, height};
  const bool labels = place.scale > kReadable && arcs_.size() < kFewArcLabels;
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    const auto& points = layout_.arcs[a];
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const int x1 = pixel(place.x + points[i].first * place.scale),
                y1 = pixel(place.y + points[i].second * place.scale),
                x2 = pixel(place.x + points[i + 1].first * place.scale),
                y2 = pixel(place.y + points[i + 1].second * place.scale);
      const Box around{std::min(x1, x2), std::min(y1, y2), std::abs(x2 - x1) + 1, std::abs(y2 - y1) + 1};
      if (!overlaps(around, canvas)) continue;
      shapes.lines.push_back(
          {x1, y1, x2, y2, arcs_[a].strong ? ColourRole::critical : ColourRole::gaps, arcs_[a].strong});
    }
    if (points.size() < 2 || arcs_[a].label.empty() || (!labels && !arcs_[a].strong)) continue;
    const auto& [fx, fy] = points[0];
    const auto& [tx, ty] = points[1];
    const int x = pixel(place.x + (fx + tx) / 2.0 * place.scale),
              y = pixel(place.y + (fy + ty) / 2.0 * place.scale), wide = measure.width(arcs_[a].label) + 6;
    const Box box{x - wide / 2, y - kLabelHeight / 2, wide, kLabelHeight};
    if (!overlaps(box, canvas) || place.scale < kReadable / 2) continue;
    shapes.labels.push_back({box, arcs_[a].label, ColourRole::idle, false});
  }
}

Shapes GraphScene::draw(const GraphPlace& place, int width, int height, const TextMeasure& measure,
                        int marked) const {
  Shapes shapes;
  const Box canvas{0, 0, width, height};
  drawRegions(place, shapes);
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const Box box = boxOf(place, static_cast<int>(i));
    if (!overlaps(box, canvas)) continue;
    const ColourRole role = boxes_[i].faint ? ColourRole::idle : boxes_[i].role;
    shapes.fill(role, box);
    if (static_cast<int>(i) == marked)
      shapes.outlines.push_back(
          {{box.x - 2, box.y - 2, box.width + 4, box.height + 4}, ColourRole::critical});
    if (box.height < kLowestText) continue;
    const bool two = place.scale > kReadable && !boxes_[i].detail.empty();
    const int half = two ? box.height / 2 : box.height;
    std::string title = fitPath(boxes_[i].title, box.width - kScenePadding, measure);
    if (!title.empty()) shapes.labels.push_back({{box.x, box.y, box.width, half}, std::move(title), role});
    std::string detail = two ? fitText(boxes_[i].detail, box.width - kScenePadding, measure) : std::string();
    if (!detail.empty())
      shapes.labels.push_back({{box.x, box.y + half, box.width, box.height - half}, std::move(detail), role});
  }
  drawArcs(place, width, height, measure, shapes);
  return shapes;
}

int GraphScene::hit(const GraphPlace& place, int x, int y) const {
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (boxOf(place, static_cast<int>(i)).contains(x, y)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace pipescope::geometry
