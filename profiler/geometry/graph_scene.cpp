#include "profiler/geometry/graph_scene.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "profiler/geometry/graph_fold.h"

namespace pipescope::geometry {
namespace {

constexpr int kSceneMargin = 24, kRegionMargin = 10, kRegionTop = 20, kScenePadding = 6, kLabelHeight = 14,
              kFewArcLabels = 400, kArcLabelGap = 5;
constexpr const char* kPartMark = " · ";
constexpr double kHeadLength = 7, kHeadHalf = 0.45, kSmallestHead = 0.3;  // kHeadHalf is an angle in radians
constexpr double kNearlyFull = 0.85;  // below this scale, labels are short
constexpr double kReadable = 0.55;    // below this scale, boxes have no room for their second line

bool overlaps(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

Box joined(const Box& a, const Box& b) {
  const int x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.right(), b.right()) - x, std::max(a.bottom(), b.bottom()) - y};
}

Box withMargins(const Box& box) {
  return {box.x - kRegionMargin, box.y - kRegionTop, box.width + 2 * kRegionMargin,
          box.height + kRegionTop + kRegionMargin};
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

/// True if the line passes through the box: the part of the line that is left after it was clipped at the
/// four edges (Liang and Barsky) is not empty.
bool crosses(const Line& line, const Box& box) {
  const double dx = line.x2 - line.x1, dy = line.y2 - line.y1;
  double from = 0, to = 1;
  for (const auto& [way, room] : {std::pair<double, double>{-dx, line.x1 - box.x},
                                  {dx, box.right() - line.x1},
                                  {-dy, line.y1 - box.y},
                                  {dy, box.bottom() - line.y1}}) {
    if (way == 0 && room < 0) return false;
    if (way < 0) from = std::max(from, room / way);
    if (way > 0) to = std::min(to, room / way);
  }
  return from <= to;
}

/// The text without as many of its last parts as do not fit: a time alone says more than "3 oper…".
std::string fitParts(std::string text, int width, const TextMeasure& measure) {
  while (measure.width(text) > width) {
    const std::size_t part = text.rfind(kPartMark);
    if (part == std::string::npos) break;
    text.resize(part);
  }
  return fitText(text, width, measure);
}

/// The head of an arrow at the end of a line.
void drawHead(const Line& line, Shapes& shapes) {
  const double back = std::atan2(line.y1 - line.y2, line.x1 - line.x2);
  for (const double turn : {-kHeadHalf, kHeadHalf})
    shapes.lines.push_back({line.x2, line.y2, line.x2 + pixel(kHeadLength * std::cos(back + turn)),
                            line.y2 + pixel(kHeadLength * std::sin(back + turn)), line.role, line.strong});
}

}  // namespace

GraphScene::GraphScene(std::vector<SceneBox> boxes, std::vector<SceneArc> arcs)
    : boxes_(std::move(boxes)), arcs_(std::move(arcs)) {
  std::vector<GraphArc> plain;
  for (const SceneArc& arc : arcs_) plain.push_back({arc.from, arc.to});
  layout_ = layOutGraph(std::vector<GraphSize>(boxes_.size(), {kBoxWidth, kBoxHeight}), plain);
  std::vector<int> regions;
  for (const SceneBox& box : boxes_) regions.push_back(box.region);
  layout_ = foldTallGraph(std::move(layout_), regions, kUsualAspect);
}

GraphPlace GraphScene::whole(int width, int height) const {
  const double across = std::max(1, width - 2 * kSceneMargin), down = std::max(1, height - 2 * kSceneMargin);
  GraphPlace place;
  place.scale =
      std::min({kMostEnlarged, across / std::max(1, layout_.width), down / std::max(1, layout_.height)});
  place.x = (width - layout_.width * place.scale) / 2;
  place.y = (height - layout_.height * place.scale) / 2;
  return place;
}

Box GraphScene::boxOf(const GraphPlace& place, int box) const {
  return placed(place, layout_.boxes[static_cast<std::size_t>(box)]);
}

std::vector<Box> GraphScene::groundsOf(int region) const {
  constexpr std::size_t kMostParts = 64;  // joining them takes their number cubed
  std::vector<Box> grounds;
  Box whole;
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (boxes_[i].region != region) continue;
    grounds.push_back(withMargins(layout_.boxes[i]));
    whole = grounds.size() == 1 ? grounds.front() : joined(whole, grounds.back());
  }
  const auto isAlone = [&](const Box& ground) {
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      if (boxes_[i].region != region && overlaps(ground, layout_.boxes[i])) return false;
    }
    return true;
  };
  if (isAlone(whole)) return {whole};
  for (std::size_t i = 0; i < grounds.size() && grounds.size() <= kMostParts;) {
    std::size_t j = i + 1;
    while (j < grounds.size() && !isAlone(joined(grounds[i], grounds[j]))) ++j;
    if (j == grounds.size()) {
      ++i;
      continue;
    }
    grounds[i] = joined(grounds[i], grounds[j]);
    grounds.erase(grounds.begin() + static_cast<std::ptrdiff_t>(j));
    i = 0;
  }
  return grounds;
}

/// A place at the top of a ground that no line crosses: on the left, on the right, between them, or beside
/// the ground. The left if all are crossed.
Box GraphScene::regionLabelPlace(const GraphPlace& place, const Box& ground, int width, int height,
                                 const Shapes& shapes) const {
  constexpr int kStep = 4, kEdge = 2;
  const int first = ground.x + kEdge, last = ground.right() - kEdge - width, y = ground.y + 1;
  const auto isFree = [&](int x) {
    const Box box{x, y, width, height};
    return std::ranges::none_of(shapes.lines, [&](const Line& line) { return crosses(line, box); });
  };
  if (isFree(first)) return {first, y, width, height};
  for (int x = last; x > first; x -= kStep) {
    if (isFree(x)) return {x, y, width, height};
  }
  const auto isEmpty = [&](int x) {
    const Box box{x, y, width, height};
    return isFree(x) && std::ranges::none_of(layout_.boxes, [&](const Box& other) {
             return overlaps(box, placed(place, withMargins(other)));
           });
  };
  for (const int x : {ground.right() + kEdge, ground.x - kEdge - width}) {
    if (isEmpty(x)) return {x, y, width, height};
  }
  return {first, y, width, height};
}

void GraphScene::drawRegions(const GraphPlace& place, const TextMeasure& measure, Shapes& shapes) const {
  std::set<int> regions;
  for (const SceneBox& box : boxes_) {
    if (box.region >= 0) regions.insert(box.region);
  }
  if (regions.size() < 2) return;
  for (const int region : regions) {
    for (const Box& around : groundsOf(region)) {
      const Box ground = placed(place, around);
      shapes.ground(ColourRole::dimmed, ground);
      const int room = pixel((kRegionTop - 2) * place.scale);
      const std::string name = fitText("stage " + std::to_string(region), ground.width - 4, measure);
      if (room < kLowestText || name.empty()) continue;
      const Box at = regionLabelPlace(place, ground, measure.width(name) + 8, room, shapes);
      shapes.labels.push_back({at, name, ColourRole::dimmed});
    }
  }
}

void GraphScene::drawArcs(const GraphPlace& place, const Box& canvas, Shapes& shapes) const {
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    const auto& points = layout_.arcs[a];
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const int x1 = pixel(place.x + points[i].first * place.scale),
                y1 = pixel(place.y + points[i].second * place.scale),
                x2 = pixel(place.x + points[i + 1].first * place.scale),
                y2 = pixel(place.y + points[i + 1].second * place.scale);
      const Box around{std::min(x1, x2), std::min(y1, y2), std::abs(x2 - x1) + 1, std::abs(y2 - y1) + 1};
      if (!overlaps(around, canvas)) continue;
      const Line line{
          x1, y1, x2, y2, arcs_[a].strong ? ColourRole::critical : ColourRole::otherWait, arcs_[a].strong};
      shapes.lines.push_back(line);
      if (i + 2 == points.size() && place.scale > kSmallestHead) drawHead(line, shapes);
    }
  }
}

std::vector<Box> GraphScene::labelPlaces(const GraphPlace& place, std::size_t arc, int width) const {
  std::vector<Line> lines;
  const auto& points = layout_.arcs[arc];
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    lines.push_back({pixel(place.x + points[i].first * place.scale),
                     pixel(place.y + points[i].second * place.scale),
                     pixel(place.x + points[i + 1].first * place.scale),
                     pixel(place.y + points[i + 1].second * place.scale), ColourRole::idle});
  }
  const auto length = [](const Line& line) {
    return std::abs(line.x2 - line.x1) + std::abs(line.y2 - line.y1);
  };
  std::ranges::stable_sort(lines, [&](const Line& a, const Line& b) { return length(a) > length(b); });
  std::vector<Box> places;
  for (const Line& line : lines) {
    for (const int part : {2, 1, 3}) {  // quarters of the line
      const int x = line.x1 + (line.x2 - line.x1) * part / 4, y = line.y1 + (line.y2 - line.y1) * part / 4;
      if (line.y1 == line.y2) {
        places.push_back({x - width / 2, y - kLabelHeight - 2, width, kLabelHeight});
        places.push_back({x - width / 2, y + 3, width, kLabelHeight});
      } else {
        // A line that leans reaches beyond its middle within the height of the label.
        const int lean = std::abs(line.x2 - line.x1) * kLabelHeight / (2 * std::abs(line.y2 - line.y1));
        const int gap = kArcLabelGap + std::min(lean, width);
        places.push_back({x + gap, y - kLabelHeight / 2, width, kLabelHeight});
        places.push_back({x - gap - width, y - kLabelHeight / 2, width, kLabelHeight});
      }
    }
  }
  return places;
}

/// Labels of cuts come first. A label that would lie over another one, over a box or over a line goes to
/// another place, becomes shorter, or is left out. Only a cut's own label may lie over lines that are no
/// cuts.
void GraphScene::drawArcLabels(const GraphPlace& place, const Box& canvas, const TextMeasure& measure,
                               Shapes& shapes) const {
  if (place.scale <= kReadable / 2 || arcs_.size() >= kFewArcLabels) return;
  const bool all = place.scale > kReadable;
  std::vector<Box> taken;
  for (std::size_t i = 0; i < boxes_.size(); ++i) taken.push_back(boxOf(place, static_cast<int>(i)));
  for (const Label& label : shapes.labels) taken.push_back(label.box);
  const auto isFree = [&](const Box& box, bool strongOnly) {
    return box.x >= canvas.x && box.right() <= canvas.right() && box.y >= canvas.y &&
           box.bottom() <= canvas.bottom() &&
           std::ranges::none_of(taken, [&](const Box& other) { return overlaps(box, other); }) &&
           std::ranges::none_of(shapes.lines, [&](const Line& line) {
             return (line.strong || !strongOnly) && crosses(line, box);
           });
  };
  const auto isOutside = [&](const Box& box) {
    return std::ranges::none_of(shapes.grounds,
                                [&](const auto& ground) { return overlaps(box, ground.second); });
  };
  // The label of a cut looks for a place between the stages before it takes one within a stage.
  const auto write = [&](std::size_t arc, const std::string& label) {
    if (label.empty()) return false;
    const std::vector<Box> places = labelPlaces(place, arc, measure.width(label) + 6);
    auto found = places.end();
    const bool strong = arcs_[arc].strong;
    if (strong)
      found =
          std::ranges::find_if(places, [&](const Box& box) { return isFree(box, false) && isOutside(box); });
    for (const bool strongOnly : {false, true}) {
      if (found == places.end() && (strong || !strongOnly))
        found = std::ranges::find_if(places, [&](const Box& box) { return isFree(box, strongOnly); });
    }
    if (found == places.end()) return false;
    taken.push_back(*found);
    shapes.labels.push_back({*found, label, ColourRole::idle, false});
    return true;
  };
  for (const bool strong : {true, false}) {
    for (std::size_t a = 0; a < arcs_.size(); ++a) {
      if (arcs_[a].strong != strong || (!all && !strong)) continue;
      const bool small = place.scale < kNearlyFull && !arcs_[a].shortLabel.empty();
      if (small || !write(a, arcs_[a].label)) write(a, arcs_[a].shortLabel);
    }
  }
}

Shapes GraphScene::draw(const GraphPlace& place, int width, int height, const TextMeasure& measure,
                        int marked) const {
  Shapes shapes;
  const Box canvas{0, 0, width, height};
  drawArcs(place, canvas, shapes);
  drawRegions(place, measure, shapes);
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
    std::string detail = two ? fitParts(boxes_[i].detail, box.width - kScenePadding, measure) : std::string();
    if (!detail.empty())
      shapes.labels.push_back({{box.x, box.y + half, box.width, box.height - half}, std::move(detail), role});
  }
  drawArcLabels(place, canvas, measure, shapes);
  return shapes;
}

int GraphScene::hit(const GraphPlace& place, int x, int y) const {
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (boxOf(place, static_cast<int>(i)).contains(x, y)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace pipescope::geometry
