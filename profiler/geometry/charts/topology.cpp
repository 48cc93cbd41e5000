#include "profiler/geometry/charts/topology.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

namespace pipescope::geometry {
namespace {

constexpr int kFramePad = 14, kFrameGap = 16, kFrameTitle = 18, kTopologyMargin = 4, kHostBar = 4,
              kNamedWidth = 86, kNamedHeight = 38, kPlainBox = 18;
constexpr int kMostColumns = 16;   ///< pairs of chips beside each other
constexpr int kTopologyReach = 5;  ///< pixels beside a line that belong to it

int middleX(const Box& box) {
  return box.x + box.width / 2;
}
int middleY(const Box& box) {
  return box.y + box.height / 2;
}

/// The line between two boxes, from border to border.
Line between(const Box& a, const Box& b) {
  const auto border = [](const Box& from, const Box& to) {
    const double dx = middleX(to) - middleX(from), dy = middleY(to) - middleY(from);
    const double across = dx == 0 ? 2 : from.width / 2.0 / std::abs(dx),
                 down = dy == 0 ? 2 : from.height / 2.0 / std::abs(dy), part = std::min({across, down, 0.5});
    return std::pair(middleX(from) + static_cast<int>(std::lround(dx * part)),
                     middleY(from) + static_cast<int>(std::lround(dy * part)));
  };
  const auto [x1, y1] = border(a, b);
  const auto [x2, y2] = border(b, a);
  return {x1, y1, x2, y2};
}

/// The lines of a link: one, or three around the chips that lie between the ends in one column.
std::vector<Line> linesOf(const Box& a, const Box& b) {
  constexpr int kAside = 8;
  const Box &upper = a.y < b.y ? a : b, &lower = a.y < b.y ? b : a;
  if (a.x != b.x || lower.y - upper.bottom() < 2 * a.height) return {between(a, b)};
  const int x = a.right(), out = x + kAside, from = middleY(upper), to = middleY(lower);
  return {{x, from, out, from}, {out, from, out, to}, {out, to, x, to}};
}

double distanceTo(const Line& line, int x, int y) {
  const double dx = line.x2 - line.x1, dy = line.y2 - line.y1, length = dx * dx + dy * dy;
  const double at =
      length <= 0 ? 0 : std::clamp(((x - line.x1) * dx + (y - line.y1) * dy) / length, 0.0, 1.0);
  return std::hypot(line.x1 + at * dx - x, line.y1 + at * dy - y);
}

}  // namespace

std::vector<int> boxesOf(int chips, const std::vector<TopologyLink>& links) {
  std::vector<int> root(static_cast<std::size_t>(std::max(0, chips)));
  std::iota(root.begin(), root.end(), 0);
  const auto rootOf = [&](int chip) {
    while (root[static_cast<std::size_t>(chip)] != chip) {
      int& next = root[static_cast<std::size_t>(chip)];
      next = root[static_cast<std::size_t>(next)];
      chip = next;
    }
    return chip;
  };
  std::map<std::string, std::size_t> counts;
  for (const TopologyLink& link : links) ++counts[link.kind];
  const auto commonest = std::ranges::max_element(counts, {}, [](const auto& kind) { return kind.second; });
  for (const TopologyLink& link : links) {
    if (link.kind != commonest->first) continue;
    const int a = rootOf(link.from), b = rootOf(link.to);
    root[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  std::map<int, int> numbers;
  std::vector<int> boxes;
  for (int chip = 0; chip < chips; ++chip)
    boxes.push_back(numbers.try_emplace(rootOf(chip), static_cast<int>(numbers.size())).first->second);
  return boxes;
}

Topology::Topology(std::vector<TopologyChip> chips, std::vector<TopologyLink> links, int width)
    : chips_(std::move(chips)), links_(std::move(links)), linksOf_(chips_.size()), width_(width) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    linksOf_[static_cast<std::size_t>(links_[i].from)].push_back(static_cast<int>(i));
    linksOf_[static_cast<std::size_t>(links_[i].to)].push_back(static_cast<int>(i));
  }
  const int count = static_cast<int>(chips_.size());
  frameOf_ = boxesOf(count, links_);
  std::vector<std::vector<int>> members;
  for (int chip = 0; chip < count; ++chip) {
    const auto frame = static_cast<std::size_t>(frameOf_[static_cast<std::size_t>(chip)]);
    if (frame >= members.size()) members.resize(frame + 1);
    members[frame].push_back(chip);
  }
  // Chips without links are no boxes of their own: they lie in one frame.
  const bool loose = members.size() == chips_.size() && members.size() > 1;
  if (loose) {
    members.assign(1, std::vector<int>(chips_.size()));
    std::iota(members[0].begin(), members[0].end(), 0);
    std::fill(frameOf_.begin(), frameOf_.end(), 0);
  }
  const bool boxesOnly = count > kMostChips;
  if (boxesOnly && members.size() > kMostBoxes) members.resize(kMostBoxes);
  const Size size = sizeFor(count);
  named_ = size.named;
  places_.resize(chips_.size());
  int x = kTopologyMargin, y = kTopologyMargin, low = 0;
  for (const std::vector<int>& box : members) {
    const Arrangement inside = boxesOnly ? Arrangement{{}, kPlainBox, kPlainBox} : arrange(box, size);
    const int pad = boxesOnly ? 0 : kFramePad, title = boxesOnly || !named_ ? 0 : kFrameTitle,
              gap = boxesOnly ? 3 : kFrameGap;
    const Box frame{x, y, inside.width + 2 * pad, inside.height + 2 * pad + title};
    if (x > kTopologyMargin && frame.right() > width - kTopologyMargin) {
      x = kTopologyMargin, y = low + gap;
    }
    frames_.push_back({x, y, frame.width, frame.height});
    firstOf_.push_back(box.front());
    for (std::size_t i = 0; i < inside.chips.size(); ++i) {
      const Box& place = inside.chips[i];
      places_[static_cast<std::size_t>(box[i])] = {x + pad + place.x, y + pad + title + place.y, place.width,
                                                   place.height};
    }
    low = std::max(low, frames_.back().bottom());
    x = frames_.back().right() + gap;
  }
  height_ = low + kTopologyMargin;
}

Topology::Size Topology::sizeFor(int chips) const {
  constexpr int kNamedChips = 48, kMiddleChips = 256;
  if (chips <= kNamedChips) return {kNamedWidth, 34, true};
  return chips <= kMiddleChips ? Size{20, 9, false} : Size{11, 5, false};
}

bool Topology::isComplete(const std::vector<int>& members) const {
  const std::size_t count = members.size();
  std::size_t ends = 0;
  for (const int chip : members) ends += linksOf_[static_cast<std::size_t>(chip)].size();
  return count > 2 && ends / 2 >= count * (count - 1) / 2;
}

Topology::Arrangement Topology::arrange(const std::vector<int>& members, const Size& size) const {
  constexpr std::size_t kMostOnRing = 32;
  return isComplete(members) && members.size() <= kMostOnRing ? ring(members.size(), size)
                                                              : ladder(members, size);
}

/// The chips lie on an ellipse, the first one at the top left, clockwise.
Topology::Arrangement Topology::ring(std::size_t count, const Size& size) const {
  const int wide = size.chip, tall = size.named ? kNamedHeight : size.chip;
  const double half = static_cast<double>(count) / 2;
  const int across = static_cast<int>((wide + size.gap) * half * 0.62) + wide,
            down = static_cast<int>((tall + size.gap) * half * 0.62) + tall;
  Arrangement made{{}, across + wide, down + tall};
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count) -
                         std::numbers::pi * 3 / 4;
    made.chips.push_back({static_cast<int>(std::lround(across / 2.0 * (1 + std::cos(angle)))),
                          static_cast<int>(std::lround(down / 2.0 * (1 + std::sin(angle)))), wide, tall});
  }
  return made;
}

/// Two rows: below each chip lies the one with which it has its fastest link.
Topology::Arrangement Topology::ladder(const std::vector<int>& members, const Size& size) const {
  const int wide = size.chip, tall = size.named ? kNamedHeight : size.chip;
  std::map<int, std::size_t> indexOf;
  for (std::size_t i = 0; i < members.size(); ++i) indexOf[members[i]] = i;
  std::vector<std::pair<int, int>> columns;
  std::map<int, bool> placed;
  for (const int chip : members) {
    if (placed[chip]) continue;
    placed[chip] = true;
    int partner = -1;
    double fastest = 0;
    for (const int link : linksOf_[static_cast<std::size_t>(chip)]) {
      const TopologyLink& one = links_[static_cast<std::size_t>(link)];
      const int other = one.from == chip ? one.to : one.from;
      if (!placed[other] && one.bytesPerSecond > fastest) partner = other, fastest = one.bytesPerSecond;
    }
    if (partner >= 0) placed[partner] = true;
    columns.emplace_back(chip, partner);
  }
  constexpr int kSides = 2 * (kTopologyMargin + kFramePad);
  const int perRow = std::clamp((width_ - kSides + size.gap) / (wide + size.gap), 1, kMostColumns);
  Arrangement made;
  made.chips.resize(members.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    // The next row of a long ladder goes back, so that its rails go on.
    const int band = static_cast<int>(c) / perRow, at = static_cast<int>(c) % perRow,
              column = band % 2 == 0 ? at : perRow - 1 - at;
    const int left = column * (wide + size.gap), top = band * (2 * tall + size.gap + size.gap * 2);
    const auto put = [&](int chip, int y) {
      if (chip < 0) return;
      made.chips[indexOf[chip]] = {left, y, wide, tall};
      made.width = std::max(made.width, left + wide);
      made.height = std::max(made.height, y + tall);
    };
    const int upper = top, lower = top + tall + size.gap;
    put(columns[c].first, band % 2 == 0 ? upper : lower);
    put(columns[c].second, band % 2 == 0 ? lower : upper);
  }
  return made;
}

Shapes Topology::draw(const TextMeasure& measure, int marked) const {
  Shapes shapes;
  const bool boxesOnly = chipCount() > kMostChips;
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    if (boxesOnly) {
      // A box has the colour of what its first chip holds.
      shapes.fill(chips_[static_cast<std::size_t>(firstOf_[i])].role, frames_[i]);
      continue;
    }
    shapes.outlines.push_back({frames_[i], ColourRole::gaps});
    if (!named_ || frames_.size() < 2) continue;
    const Box title{frames_[i].x + 6, frames_[i].y + 3, frames_[i].width - 12, kFrameTitle - 3};
    shapes.labels.push_back(
        {title, fitText("box " + std::to_string(i), title.width, measure), ColourRole::free});
  }
  if (boxesOnly) return shapes;
  std::vector<std::size_t> order(links_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return links_[i].share; });
  for (const std::size_t i : order) {
    const Box &a = places_[static_cast<std::size_t>(links_[i].from)],
              &b = places_[static_cast<std::size_t>(links_[i].to)];
    const bool isMarked = marked == chipCount() + static_cast<int>(i);
    for (Line line : linesOf(a, b)) {
      line.role = isMarked ? ColourRole::critical : links_[i].role;
      line.strong = isMarked || links_[i].share > 0;
      shapes.lines.push_back(line);
    }
  }
  for (int chip = 0; chip < chipCount(); ++chip) drawChip(chip, measure, shapes);
  if (marked >= 0 && marked < chipCount())
    shapes.outlines.push_back({places_[static_cast<std::size_t>(marked)], ColourRole::critical});
  return shapes;
}

void Topology::drawChip(int chip, const TextMeasure& measure, Shapes& shapes) const {
  const TopologyChip& own = chips_[static_cast<std::size_t>(chip)];
  const Box& box = places_[static_cast<std::size_t>(chip)];
  shapes.fill(own.role, box);
  if (!named_) return;
  const int half = (box.height - kHostBar) / 2;
  const Box upper{box.x, box.y + 1, box.width, half}, lower{box.x, box.y + half, box.width, half};
  shapes.labels.push_back({upper, fitText(own.name, box.width - 6, measure), own.role});
  shapes.labels.push_back({lower, fitText(own.note, box.width - 6, measure), own.role});
  if (own.host > 0) {
    const int wide = std::max(2, static_cast<int>(std::lround(own.host * box.width)));
    shapes.fill(ColourRole::hostInTransfer, {box.x, box.bottom() + 1, std::min(wide, box.width), kHostBar});
  }
}

int Topology::hit(int x, int y) const {
  for (int chip = 0; chip < chipCount(); ++chip) {
    if (places_[static_cast<std::size_t>(chip)].contains(x, y)) return chip;
  }
  int nearest = -1;
  double least = kTopologyReach;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Box &a = places_[static_cast<std::size_t>(links_[i].from)],
              &b = places_[static_cast<std::size_t>(links_[i].to)];
    if (a.width == 0 || b.width == 0) continue;
    // The busiest link counts where several cross.
    double far = kTopologyReach;
    for (const Line& line : linesOf(a, b)) far = std::min(far, distanceTo(line, x, y));
    const bool isBetter = nearest < 0 || links_[i].share > links_[static_cast<std::size_t>(nearest)].share ||
                          (links_[i].share == links_[static_cast<std::size_t>(nearest)].share && far < least);
    if (far < kTopologyReach && isBetter) nearest = static_cast<int>(i), least = far;
  }
  return nearest < 0 ? -1 : chipCount() + nearest;
}

Box Topology::boxOf(int item) const {
  if (item < 0 || item >= chipCount() + static_cast<int>(links_.size())) return {};
  if (item < chipCount()) return places_[static_cast<std::size_t>(item)];
  const TopologyLink& link = links_[static_cast<std::size_t>(item - chipCount())];
  const Box &a = places_[static_cast<std::size_t>(link.from)],
            &b = places_[static_cast<std::size_t>(link.to)];
  if (a.width == 0 || b.width == 0) return {};
  const Line line = between(a, b);
  return {std::min(line.x1, line.x2), std::min(line.y1, line.y2), std::max(1, std::abs(line.x1 - line.x2)),
          std::max(1, std::abs(line.y1 - line.y2))};
}

}  // namespace pipescope::geometry
