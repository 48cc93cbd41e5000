#include "profiler/geometry/graph_scene.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "profiler/geometry/graph_fold.h"

namespace pipescope::geometry {
namespace {

constexpr int kSceneMargin = 16, kRegionMargin = 16, kRegionTop = 20, kScenePadding = 6, kLabelHeight = 14,
              kFewArcLabels = 400, kArcLabelGap = 5, kNoteWidth = 100, kNoteArrow = 16;
constexpr const char* kPartMark = " · ";
constexpr const char* kMoreBefore = "…";
constexpr double kHeadLength = 7, kHeadHalf = 0.45, kSmallestHead = 0.3;  // kHeadHalf is an angle in radians
constexpr double kNearlyFull = 0.85;  // below this scale, labels are short
constexpr double kReadable = 0.55;    // below this scale, only cuts have labels

bool overlaps(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

bool contains(const Box& outer, const Box& inner) {
  return inner.x >= outer.x && inner.right() <= outer.right() && inner.y >= outer.y &&
         inner.bottom() <= outer.bottom();
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

/// The path before the last name of a title; empty if there is none.
std::string groupOfTitle(const std::string& title) {
  const std::size_t slash = title.rfind('/');
  return slash == std::string::npos ? std::string() : title.substr(0, slash);
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
  std::vector<GraphSize> sizes(boxes_.size(), {kBoxWidth, kBoxHeight});
  layout_ = layOutGraph(sizes, plain);
  findNotes(layout_);
  if (!notes_.empty()) {
    for (std::size_t a = 0; a < arcs_.size(); ++a) {
      if (noted_[a]) plain[a].to = plain[a].from;  // the layout leaves it out
    }
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
      if (!notes_[i].in.empty() || !notes_[i].out.empty()) sizes[i].width += 2 * kNoteWidth;
    }
    layout_ = layOutGraph(sizes, plain);
  }
  std::vector<int> regions;
  for (const SceneBox& box : boxes_) regions.push_back(box.region);
  layout_ = foldTallGraph(std::move(layout_), regions, kUsualAspect);
  for (Box& box : layout_.boxes) {
    box.x += (box.width - kBoxWidth) / 2;
    box.width = kBoxWidth;
  }
  std::set<int> known(regions.begin(), regions.end());
  known.erase(-1);
  for (const int region : known) {
    if (known.size() < 2) break;
    for (const Box& ground : groundsOf(region)) grounds_.emplace_back(region, ground);
  }
}

/// Chooses the arcs that are written beside boxes. An arc over several rows is the longer way to its end, so
/// the rows stay as they are without it.
void GraphScene::findNotes(const GraphLayout& layout) {
  constexpr std::size_t kPointsOfOneRow = 2;
  std::vector<int> leaving(boxes_.size(), 0), arriving(boxes_.size(), 0);
  const auto isFar = [&](std::size_t arc) { return layout.arcs[arc].size() > kPointsOfOneRow; };
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    if (!isFar(a)) continue;
    ++leaving[arcs_[a].from];
    ++arriving[arcs_[a].to];
  }
  noted_.assign(arcs_.size(), false);
  const auto add = [](std::string& names, const std::string& name) {
    names += (names.empty() ? "" : ", ") + name;
  };
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    const SceneArc& arc = arcs_[a];
    const bool fansOut = leaving[arc.from] > kMostFarArcs, fansIn = arriving[arc.to] > kMostFarArcs;
    if (!isFar(a) || (!fansOut && !fansIn)) continue;
    noted_[a] = true;
    notes_.resize(boxes_.size());
    Notes& from = notes_[arc.from];
    Notes& to = notes_[arc.to];
    if (fansOut) {
      add(to.in, boxes_[arc.from].title);
      to.isInCut = to.isInCut || arc.strong;
    } else {
      add(from.out, boxes_[arc.to].title);
      from.isOutCut = from.isOutCut || arc.strong;
    }
  }
}

GraphPlace GraphScene::whole(int width, int height) const {
  const double across = std::max(1, width - 2 * kSceneMargin), down = std::max(1, height - 2 * kSceneMargin);
  // Grounds reach beyond the boxes.
  const int side = grounds_.empty() ? 0 : kRegionMargin, top = grounds_.empty() ? 0 : kRegionTop;
  const int wide = layout_.width + 2 * side, tall = layout_.height + top + side;
  GraphPlace place;
  place.scale = std::min({kMostEnlarged, across / std::max(1, wide), down / std::max(1, tall)});
  place.x = (width - wide * place.scale) / 2 + side * place.scale;
  place.y = (height - tall * place.scale) / 2 + top * place.scale;
  return place;
}

Box GraphScene::boxOf(const GraphPlace& place, int box) const {
  return placed(place, layout_.boxes[static_cast<std::size_t>(box)]);
}

Box GraphScene::withNotes(std::size_t i) const {
  Box box = layout_.boxes[i];
  if (notes_.empty()) return box;
  const int left = notes_[i].in.empty() ? 0 : kNoteWidth, right = notes_[i].out.empty() ? 0 : kNoteWidth;
  return {box.x - left, box.y, left + box.width + right, box.height};
}

std::vector<Box> GraphScene::groundsOf(int region) const {
  constexpr std::size_t kMostParts = 64;  // joining them takes their number cubed
  std::vector<Box> grounds;
  Box whole;
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (boxes_[i].region != region) continue;
    grounds.push_back(withMargins(withNotes(i)));
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
  const int room = pixel((kRegionTop - 2) * place.scale);
  for (const auto& [region, around] : grounds_) {
    const Box ground = placed(place, around);
    shapes.ground(ColourRole::dimmed, ground);
    const std::string name = fitText("stage " + std::to_string(region), ground.width - 4, measure);
    if (room < kLowestText || name.empty()) continue;
    const Box at = regionLabelPlace(place, ground, measure.width(name) + 4, room, shapes);
    shapes.labels.push_back({at, name, ColourRole::dimmed});
  }
  if (room < kLowestText) drawNamesBeside(place, measure, shapes);
}

/// Grounds whose upper edges are too low for their names have these above or below, at places that no line
/// crosses. All of them have names, or none has: the legend tells the stages, too.
void GraphScene::drawNamesBeside(const GraphPlace& place, const TextMeasure& measure, Shapes& shapes) const {
  constexpr std::size_t kMostNames = 64;  // each is compared with all lines and grounds
  if (place.scale <= kReadable / 2 || grounds_.size() > kMostNames) return;
  std::vector<Label> labels;
  const auto isFree = [&](const Box& at) {
    return std::ranges::none_of(shapes.lines, [&](const Line& line) { return crosses(line, at); }) &&
           std::ranges::none_of(labels, [&](const Label& label) { return overlaps(label.box, at); }) &&
           std::ranges::none_of(grounds_,
                                [&](const auto& other) { return overlaps(at, placed(place, other.second)); });
  };
  for (const auto& [region, around] : grounds_) {
    const Box ground = placed(place, around);
    const std::string name = "stage " + std::to_string(region);
    const int width = measure.width(name), right = ground.right() - width;
    const int above = ground.y - kLabelHeight, below = ground.bottom() + 1;
    bool isNamed = false;
    for (const auto& [x, y] : {std::pair{ground.x, above},
                               {right, above},
                               {ground.x, below},
                               {right, below},
                               {ground.x, above - kLabelHeight}}) {
      const Box at{x, y, width, kLabelHeight};
      if (!isFree(at)) continue;
      labels.push_back({at, name, ColourRole::idle, false});
      isNamed = true;
      break;
    }
    if (!isNamed) return;
  }
  shapes.labels.insert(shapes.labels.end(), labels.begin(), labels.end());
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

/// Writes the notes beside their boxes, each with an arrow to or from the box, and draws the arcs of the
/// marked box as lines.
void GraphScene::drawNotes(const GraphPlace& place, const Box& canvas, const TextMeasure& measure, int marked,
                           Shapes& shapes) const {
  const int wide = pixel(kNoteWidth * place.scale), arrow = std::max(2, pixel(kNoteArrow * place.scale));
  const auto roleOf = [](bool cut) { return cut ? ColourRole::critical : ColourRole::otherWait; };
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    const Box box = boxOf(place, static_cast<int>(i));
    if (!overlaps({box.x - wide, box.y, box.width + 2 * wide, box.height}, canvas)) continue;
    const int middle = box.y + box.height / 2;
    const auto write = [&](const std::string& names, int x, int room) {
      const std::string text = fitPath(names, room, measure);
      if (box.height < kLowestText || text.empty()) return;
      const int width = measure.width(text) + 2;
      const int left = x < box.x ? x + room - width : x;
      shapes.labels.push_back({{left, box.y, width, box.height}, text, ColourRole::idle, false});
    };
    if (!notes_[i].in.empty()) {
      const Line line{box.x - arrow, middle, box.x, middle, roleOf(notes_[i].isInCut), notes_[i].isInCut};
      shapes.lines.push_back(line);
      if (place.scale > kSmallestHead) drawHead(line, shapes);
      write(notes_[i].in, box.x - wide, wide - arrow - 2);
    }
    if (!notes_[i].out.empty()) {
      const Line line{box.right(),       middle, box.right() + arrow, middle, roleOf(notes_[i].isOutCut),
                      notes_[i].isOutCut};
      shapes.lines.push_back(line);
      if (place.scale > kSmallestHead) drawHead(line, shapes);
      write(notes_[i].out, box.right() + arrow + 2, wide - arrow - 2);
    }
  }
  for (std::size_t a = 0; a < arcs_.size() && marked >= 0; ++a) {
    const auto box = static_cast<std::size_t>(marked);
    if (!noted_[a] || (arcs_[a].from != box && arcs_[a].to != box)) continue;
    const Box from = boxOf(place, static_cast<int>(arcs_[a].from)),
              to = boxOf(place, static_cast<int>(arcs_[a].to));
    const Line line{from.x + from.width / 2, from.bottom(),  to.x + to.width / 2, to.y,
                    roleOf(arcs_[a].strong), arcs_[a].strong};
    shapes.lines.push_back(line);
    drawHead(line, shapes);
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
    // A ground reaches further up from its boxes than down, so the middle between two lies above that of the
    // line between them.
    for (const double part : {0.43, 0.5, 0.25, 0.75}) {
      const int x = line.x1 + pixel((line.x2 - line.x1) * part),
                y = line.y1 + pixel((line.y2 - line.y1) * part);
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
/// another place. All labels of cuts are alike, and so are those of all other arcs: they have the longest
/// text for which each of them has a place. Only if even the shortest ones have not, some are left out, and
/// those of cuts may lie over lines that are no cuts.
void GraphScene::drawArcLabels(const GraphPlace& place, const Box& canvas, const TextMeasure& measure,
                               Shapes& shapes) const {
  if (place.scale <= kReadable / 2 || arcs_.size() >= kFewArcLabels) return;
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
  const auto isClear = [&](const Box& box) {
    return std::ranges::all_of(shapes.grounds, [&](const auto& ground) {
      return !overlaps(box, ground.second) || contains(ground.second, box);
    });
  };
  const auto write = [&](const std::vector<Box>& places, const std::string& label, const auto& suits) {
    const auto found = std::ranges::find_if(places, suits);
    if (label.empty() || found == places.end()) return false;
    taken.push_back(*found);
    shapes.labels.push_back({*found, label, ColourRole::idle, false});
    return true;
  };
  // The label of a cut looks for a place between the stages before it takes one within a stage.
  const auto writeCut = [&](const std::vector<Box>& places, const std::string& label, bool clear) {
    return write(places, label, [&](const Box& box) { return isFree(box, false) && isOutside(box); }) ||
           write(places, label, [&](const Box& box) { return isFree(box, false); }) ||
           (!clear && write(places, label, [&](const Box& box) { return isFree(box, true); }));
  };
  const auto isSeen = [&](const Box& box) { return overlaps(box, canvas); };
  /// Writes the labels of this length of all cuts or of all other arcs. False: one of them has no clear
  /// place.
  const auto writeAll = [&](bool strong, std::size_t length, bool clear) {
    bool all = true;
    for (std::size_t a = 0; a < arcs_.size(); ++a) {
      const SceneArc& arc = arcs_[a];
      if (arc.strong != strong) continue;
      const std::string& shorter = length == 0 || arc.shortLabel.empty() ? arc.label : arc.shortLabel;
      const std::string& label = length < 2 || arc.shortestLabel.empty() ? shorter : arc.shortestLabel;
      if (label.empty()) continue;
      const std::vector<Box> places = labelPlaces(place, a, measure.width(label) + 3);
      const bool done = strong ? writeCut(places, label, clear) : write(places, label, [&](const Box& box) {
        return isFree(box, false) && (!clear || isClear(box));
      });
      all = all && (done || std::ranges::none_of(places, isSeen));
      if (!all && clear) return false;
    }
    return all;
  };
  /// Takes the longest text for which all arcs have a place; else the shortest one, where it has room.
  const auto writeLongest = [&](bool strong, std::size_t from, std::size_t until) {
    const std::vector<Box> takenBefore = taken;
    const std::vector<Label> before = shapes.labels;
    for (std::size_t length = from; length < until; ++length) {
      if (writeAll(strong, length, true)) return;
      taken = takenBefore;
      shapes.labels = before;
    }
    writeAll(strong, until - 1, false);
  };
  const bool small = place.scale < kNearlyFull;
  writeLongest(true, small ? 1 : 0, 3);
  if (place.scale > kReadable) writeLongest(false, 0, 2);
}

/// Groups of which the name of some box has no room for the whole path: all their names leave it out, so that
/// boxes of one kind have names of one kind.
std::set<std::string> GraphScene::shortenedGroups(const GraphPlace& place, const TextMeasure& measure) const {
  std::set<std::string> groups;
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const std::string group = groupOfTitle(boxes_[i].title);
    if (group.empty() || groups.contains(group)) continue;
    const int room = boxOf(place, static_cast<int>(i)).width - kScenePadding;
    if (fitPath(boxes_[i].title, room, measure) != boxes_[i].title) groups.insert(group);
  }
  return groups;
}

Shapes GraphScene::draw(const GraphPlace& place, int width, int height, const TextMeasure& measure,
                        int marked) const {
  Shapes shapes;
  const Box canvas{0, 0, width, height};
  drawArcs(place, canvas, shapes);
  drawNotes(place, canvas, measure, marked, shapes);
  drawRegions(place, measure, shapes);
  const std::set<std::string> shortened = shortenedGroups(place, measure);
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const Box box = boxOf(place, static_cast<int>(i));
    if (!overlaps(box, canvas)) continue;
    const ColourRole role = boxes_[i].faint ? ColourRole::idle : boxes_[i].role;
    shapes.fill(role, box);
    if (static_cast<int>(i) == marked)
      shapes.outlines.push_back(
          {{box.x - 2, box.y - 2, box.width + 4, box.height + 4}, ColourRole::critical});
    if (box.height < kLowestText) continue;
    constexpr int kEdges = 2;  // pixels that two lines of text leave free
    const bool two = box.height >= 2 * kLowText + kEdges && !boxes_[i].detail.empty();
    const int half = two ? box.height / 2 : box.height;
    const std::string group = groupOfTitle(boxes_[i].title);
    std::string title = fitPath(
        shortened.contains(group) ? kMoreBefore + boxes_[i].title.substr(group.size()) : boxes_[i].title,
        box.width - kScenePadding, measure);
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
