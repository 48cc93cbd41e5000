#include "profiler/geometry/charts/topology.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>

namespace pipescope::geometry {
namespace {

constexpr int kFramePad = 14, kFrameGap = 16, kFrameTitle = 18, kTopologyMargin = 4, kHostBar = 4,
              kNamedWidth = 86, kNamedHeight = 38, kPlainBox = 8;
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

/// Three lines beside a column, around the chips that lie in it between the ends of a link.
std::vector<Line> besideColumn(const Box& a, const Box& b) {
  constexpr int kAside = 8;
  const Box &upper = a.y < b.y ? a : b, &lower = a.y < b.y ? b : a;
  const int x = a.right(), out = x + kAside, from = middleY(upper), to = middleY(lower);
  return {{x, from, out, from}, {out, from, out, to}, {out, to, x, to}};
}

/// Three lines below a row, around the chips that lie in it between the ends of a link.
std::vector<Line> belowRow(const Box& a, const Box& b) {
  constexpr int kBelow = 8;
  const int y = std::max(a.bottom(), b.bottom()), out = y + kBelow, from = middleX(a), to = middleX(b);
  return {{from, y, from, out}, {from, out, to, out}, {to, out, to, y}};
}

double distanceTo(const Line& line, int x, int y) {
  const double dx = line.x2 - line.x1, dy = line.y2 - line.y1, length = dx * dx + dy * dy;
  const double at =
      length <= 0 ? 0 : std::clamp(((x - line.x1) * dx + (y - line.y1) * dy) / length, 0.0, 1.0);
  return std::hypot(line.x1 + at * dx - x, line.y1 + at * dy - y);
}

}  // namespace

std::vector<int> boxesOf(int chips, const std::vector<TopologyLink>& links, int chipsOfBox) {
  if (chipsOfBox > 0) {
    std::vector<int> stated(static_cast<std::size_t>(std::max(0, chips)));
    for (std::size_t chip = 0; chip < stated.size(); ++chip)
      stated[chip] = static_cast<int>(chip) / chipsOfBox;
    return stated;
  }
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
  for (const TopologyLink& link : links)
    if (!link.trunk) ++counts[link.kind];
  const auto commonest = std::ranges::max_element(counts, {}, [](const auto& kind) { return kind.second; });
  // Names of single links are no kinds.
  const bool named = 2 * counts.size() > links.size();
  for (const TopologyLink& link : links) {
    if (link.trunk || (!named && link.kind != commonest->first)) continue;
    const int a = rootOf(link.from), b = rootOf(link.to);
    root[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  std::map<int, int> numbers;
  std::vector<int> boxes;
  for (int chip = 0; chip < chips; ++chip)
    boxes.push_back(numbers.try_emplace(rootOf(chip), static_cast<int>(numbers.size())).first->second);
  return boxes;
}

Topology::Topology(std::vector<TopologyChip> chips, std::vector<TopologyLink> links, int width,
                   TopologyParts parts)
    : chips_(std::move(chips)),
      links_(std::move(links)),
      linksOf_(chips_.size()),
      parts_(parts),
      width_(width) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    linksOf_[static_cast<std::size_t>(links_[i].from)].push_back(static_cast<int>(i));
    linksOf_[static_cast<std::size_t>(links_[i].to)].push_back(static_cast<int>(i));
  }
  const int count = chipCount();
  frameOf_ = boxesOf(count, links_, parts.chipsOfBox);
  std::vector<std::vector<int>> members;
  for (int chip = 0; chip < count; ++chip) {
    const auto frame = static_cast<std::size_t>(frameOf_[static_cast<std::size_t>(chip)]);
    if (frame >= members.size()) members.resize(frame + 1);
    members[frame].push_back(chip);
  }
  // Chips without links are no boxes of their own: they lie in one frame.
  const bool loose = parts.chipsOfBox == 0 && members.size() == chips_.size() && members.size() > 1;
  if (loose) {
    members.assign(1, std::vector<int>(chips_.size()));
    std::iota(members[0].begin(), members[0].end(), 0);
    std::fill(frameOf_.begin(), frameOf_.end(), 0);
  }
  if (members.size() > kMostBoxes) members.resize(kMostBoxes);
  rails_ = findRails();
  named_ = sizeFor(count).named;
  // A small system fills the width, as long as it is not tall.
  const int wanted = std::max(330, width_ / 4);
  for (const double scale : {6.6, 5.4, 4.4, 3.4, 2.8, 2.2, 1.9, 1.6, 1.35, 1.15, 1.0}) {
    layOut(members, scaled(scale));
    if (!linked() || (height_ <= wanted && usedWidth() <= width_)) break;
  }
  membersOf_ = std::move(members);
  if (linked()) centre();
}

/// Puts the picture into the middle of the width.
void Topology::centre() {
  int left = width_, right = 0;
  for (const Box& frame : frames_) left = std::min(left, frame.x), right = std::max(right, frame.right());
  shift_ = std::max(0, (width_ - right - left) / 2);
  for (std::vector<Box>* boxes : {&places_, &frames_, &domains_})
    for (Box& box : *boxes) box.x += shift_;
}

/// Links of one kind that join chips of a box as well as those of different boxes, as IPU-Link does.
bool Topology::findRails() const {
  std::map<std::string, std::pair<bool, bool>> kinds;
  for (const TopologyLink& link : links_) {
    if (link.trunk) continue;
    const bool inside =
        frameOf_[static_cast<std::size_t>(link.from)] == frameOf_[static_cast<std::size_t>(link.to)];
    (inside ? kinds[link.kind].first : kinds[link.kind].second) = true;
  }
  return std::ranges::any_of(kinds, [](const auto& kind) { return kind.second.first && kind.second.second; });
}

Topology::Spacing Topology::spacing() const {
  if (!linked()) return {chipCount() <= kMostChips ? 1 : 0, 0, 4, kTopologyMargin};
  return {kFramePad, named_ ? kFrameTitle : 0, kFrameGap, kTopologyMargin};
}

/// Puts the boxes into rows. Along rails, every other row goes back, so that the rails go on.
void Topology::layOut(const std::vector<std::vector<int>>& members, const Size& size) {
  constexpr int kDomainTitle = 20;
  const auto [pad, title, gap, margin] = spacing();
  frames_.clear(), firstOf_.clear(), domains_.clear();
  places_.assign(chips_.size(), Box());
  const int chipsOfDomain =
      parts_.chipsOfDomain > 0 && parts_.chipsOfDomain < chipCount() && linked() ? parts_.chipsOfDomain : 0;
  // Links around boxes need room above the first row and below the last one.
  const bool network = !rails_ && members.size() > 1 && std::ranges::any_of(links_, [this](const auto& link) {
    return link.share > 0 &&
           frameOf_[static_cast<std::size_t>(link.from)] != frameOf_[static_cast<std::size_t>(link.to)];
  });
  const int left = margin + (network && linked() ? kFrameGap / 2 : 0);
  int x = left, y = left + (chipsOfDomain > 0 ? kDomainTitle : 0), low = y, row = 0, widest = 0, domain = 0;
  std::vector<int> rowOf;
  std::vector<Arrangement> insides;
  for (std::size_t b = 0; b < members.size(); ++b) {
    insides.push_back(chipCount() > kMostChips ? Arrangement{{}, kPlainBox, kPlainBox}
                                               : arrange(members[b], size));
    const Arrangement& inside = insides.back();
    const Box frame{x, y, inside.width + 2 * pad, inside.height + 2 * pad + title};
    const int own = chipsOfDomain > 0 ? members[b].front() / chipsOfDomain : 0;
    const bool next = own != std::exchange(domain, own);
    if (x > left && (next || frame.right() > width_ - margin)) {
      x = left, y = low + gap + (next ? kDomainTitle + gap : 0), row = next ? 0 : row + 1;
    }
    frames_.push_back({x, y, frame.width, frame.height});
    firstOf_.push_back(members[b].front());
    rowOf.push_back(row);
    low = std::max(low, frames_.back().bottom());
    x = frames_.back().right() + gap;
    widest = std::max(widest, frames_.back().right());
    if (chipsOfDomain == 0) continue;
    if (domains_.size() <= static_cast<std::size_t>(own))
      domains_.push_back({left - margin / 2, y - kDomainTitle, 0, 0});
    domains_.back().height = low + gap / 2 - domains_.back().y;
  }
  for (Box& one : domains_) one.width = widest + margin / 2 - one.x;
  for (std::size_t b = 0; b < members.size(); ++b) {
    const bool turned = rails_ && rowOf[b] % 2 == 1;
    if (turned) frames_[b].x = left + widest - frames_[b].right();
    place(members[b], insides[b], frames_[b], turned);
  }
  height_ = low + margin + (chipsOfDomain > 0 ? gap / 2 : 0);
}

/// Puts the chips of a box into its frame. A turned box is one that the rails reach from the other side.
void Topology::place(const std::vector<int>& members, const Arrangement& inside, const Box& frame,
                     bool turned) {
  const Spacing space = spacing();
  for (std::size_t i = 0; i < inside.chips.size(); ++i) {
    const Box& own = inside.chips[i];
    const int across = turned ? inside.width - own.right() : own.x,
              down = turned ? inside.height - own.bottom() : own.y;
    places_[static_cast<std::size_t>(members[i])] = {
        frame.x + space.pad + across, frame.y + space.pad + space.title + down, own.width, own.height};
  }
}

int Topology::usedWidth() const {
  int left = width_, right = 0;
  for (const Box& frame : frames_) left = std::min(left, frame.x), right = std::max(right, frame.right());
  return std::max(0, right - left) + 2 * kTopologyMargin;
}

const Box& Topology::frameOf(int chip) const {
  return frames_[static_cast<std::size_t>(frameOf_[static_cast<std::size_t>(chip)])];
}

Topology::Size Topology::sizeFor(int chips) const {
  constexpr int kNamedChips = 48, kMiddleChips = 256;
  if (chips <= kNamedChips) return {kNamedWidth, kNamedHeight, 34, true};
  if (chips <= kMiddleChips) return {20, 20, 9, false};
  return chips <= kMostLinked ? Size{11, 11, 5, false} : Size{4, 4, 1, false};
}

/// The size of chips, enlarged. Names need no more height.
Topology::Size Topology::scaled(double scale) const {
  Size size = sizeFor(chipCount());
  if (!linked()) return size;
  size.chip = static_cast<int>(size.chip * scale);
  size.gap = static_cast<int>(size.gap * scale);
  if (!size.named) size.tall = size.chip;
  return size;
}

bool Topology::isComplete(const std::vector<int>& members) const {
  const std::size_t count = members.size();
  std::size_t ends = 0;
  for (const int chip : members) {
    for (const int link : linksOf_[static_cast<std::size_t>(chip)]) {
      const TopologyLink& one = links_[static_cast<std::size_t>(link)];
      const int other = one.from == chip ? one.to : one.from;
      if (!one.trunk && std::ranges::binary_search(members, other)) ++ends;
    }
  }
  return count > 2 && ends / 2 >= count * (count - 1) / 2;
}

Topology::Arrangement Topology::arrange(const std::vector<int>& members, const Size& size) const {
  constexpr std::size_t kMostOnRing = 32;
  if (!linked()) return grid(members.size(), size);
  return isComplete(members) && members.size() <= kMostOnRing ? ring(members.size(), size)
                                                              : ladder(members, size);
}

/// Two rows without regard to links, for chips of a few pixels.
Topology::Arrangement Topology::grid(std::size_t count, const Size& size) const {
  const int step = size.chip + size.gap, columns = static_cast<int>(count + 1) / 2;
  Arrangement made;
  for (std::size_t i = 0; i < count; ++i) {
    const int at = static_cast<int>(i);
    made.chips.push_back({at % columns * step, at / columns * step, size.chip, size.tall});
    made.width = std::max(made.width, made.chips.back().right());
    made.height = std::max(made.height, made.chips.back().bottom());
  }
  return made;
}

/// The chips lie on an ellipse, the first one at the top left, clockwise.
Topology::Arrangement Topology::ring(std::size_t count, const Size& size) const {
  const int wide = size.chip, tall = size.tall;
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

/// The distance of most links between chips, counted in members. Where a trace records the devices of several
/// replicas in turn, it is the number of replicas.
int Topology::commonDistance(const std::vector<int>& members) const {
  std::map<std::ptrdiff_t, int> counts;
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const int link : linksOf_[static_cast<std::size_t>(members[i])]) {
      const TopologyLink& one = links_[static_cast<std::size_t>(link)];
      const int other = one.from == members[i] ? one.to : one.from;
      const auto found = std::ranges::lower_bound(members, other);
      const std::ptrdiff_t distance = found - members.begin() - static_cast<std::ptrdiff_t>(i);
      if (found != members.end() && *found == other && distance > 0) ++counts[distance];
    }
  }
  const auto most =
      std::ranges::max_element(counts, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 1 : static_cast<int>(most->first);
}

/// Neighbours lie below each other, so that what is `rows` apart lies side by side.
Topology::Arrangement Topology::interleaved(std::size_t count, int rows, const Size& size) {
  Arrangement made;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    made.chips.push_back(
        {i / rows * (size.chip + size.gap), i % rows * (size.tall + size.gap), size.chip, size.tall});
    made.width = std::max(made.width, made.chips.back().right());
    made.height = std::max(made.height, made.chips.back().bottom());
  }
  return made;
}

/// Two rows: below each chip lies the one with which it has its fastest link.
Topology::Arrangement Topology::ladder(const std::vector<int>& members, const Size& size) const {
  const int wide = size.chip, tall = size.tall;
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
      if (indexOf.contains(other) && !placed[other] && one.bytesPerSecond > fastest)
        partner = other, fastest = one.bytesPerSecond;
    }
    if (partner >= 0) placed[partner] = true;
    columns.emplace_back(chip, partner);
  }
  constexpr int kSides = 2 * (kTopologyMargin + kFramePad);
  const int perRow = std::clamp((width_ - kSides + size.gap) / (wide + size.gap), 1, kMostColumns);
  if (columns.size() == members.size()) {
    const int count = static_cast<int>(members.size()), rows = commonDistance(members),
              wanted = (count + rows - 1) / rows;
    if (rows > 1 && wanted <= perRow) return interleaved(members.size(), rows, size);
  }
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

/// True if the line would be drawn over a chip that it does not join.
bool Topology::crossesChips(const Line& line, const TopologyLink& link) const {
  const auto crosses = [&](const Box& box) {
    constexpr int kSamples = 24;
    for (int part = 1; part < kSamples; ++part) {
      const int x = line.x1 + (line.x2 - line.x1) * part / kSamples,
                y = line.y1 + (line.y2 - line.y1) * part / kSamples;
      if (x > box.x && x < box.right() - 1 && y > box.y && y < box.bottom() - 1) return true;
    }
    return false;
  };
  const int from = frameOf_[static_cast<std::size_t>(link.from)],
            to = frameOf_[static_cast<std::size_t>(link.to)];
  for (int frame = std::min(from, to); frame <= std::max(from, to); ++frame)
    for (const int chip : membersOf_[static_cast<std::size_t>(frame)])
      if (chip != link.from && chip != link.to && crosses(places_[static_cast<std::size_t>(chip)]))
        return true;
  return false;
}

/// Lines between the tops of two boxes, over the gaps beside the boxes. Trunks and links run side by side.
std::vector<Line> Topology::aroundBoxes(const TopologyLink& link) const {
  constexpr int kTrackGap = 5;
  const Box &a = frameOf(link.from), &b = frameOf(link.to);
  const int track = link.trunk ? 0 : kTrackGap, aisle = kTrackGap + track, xa = middleX(a) + track,
            xb = middleX(b) + track, ya = a.y - aisle, yb = b.y - aisle;
  std::vector<Line> lines{{xa, a.y, xa, ya}};
  if (a.y == b.y) {
    lines.push_back({xa, ya, xb, ya});
  } else {
    const int edge = shift_ + kTopologyMargin + kTrackGap - track;
    lines.insert(lines.end(), {{xa, ya, edge, ya}, {edge, ya, edge, yb}, {edge, yb, xb, yb}});
  }
  lines.push_back({xb, yb, xb, b.y});
  return lines;
}

std::vector<Line> Topology::linesOf(const TopologyLink& link) const {
  const Box &a = places_[static_cast<std::size_t>(link.from)],
            &b = places_[static_cast<std::size_t>(link.to)];
  const bool inside =
      frameOf_[static_cast<std::size_t>(link.from)] == frameOf_[static_cast<std::size_t>(link.to)];
  if (link.trunk) return aroundBoxes(link);
  const Line direct = between(a, b);
  const bool alongBox = inside || rails_;
  // Lines within a ring pass beside its chips, so only those along a column or row are looked at.
  if ((alongBox && a.x != b.x && a.y != b.y) || !crossesChips(direct, link)) return {direct};
  return !alongBox ? aroundBoxes(link) : a.x == b.x ? besideColumn(a, b) : belowRow(a, b);
}

void Topology::drawFrames(const TextMeasure& measure, Shapes& shapes) const {
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    if (chipCount() > kMostChips) {
      // A box has the colour of what its first chip holds.
      shapes.fill(chips_[static_cast<std::size_t>(firstOf_[i])].role, frames_[i]);
      continue;
    }
    if (!linked()) continue;
    shapes.outlines.push_back({frames_[i], ColourRole::gaps});
    if (!named_ || frames_.size() < 2) continue;
    const Box title{frames_[i].x + 6, frames_[i].y + 3, frames_[i].width - 12, kFrameTitle - 3};
    shapes.labels.push_back(
        {title, fitText("box " + std::to_string(i), title.width, measure), ColourRole::free});
  }
  for (std::size_t i = 0; i < domains_.size(); ++i) {
    shapes.outlines.push_back({domains_[i], ColourRole::gaps});
    const std::string words = fitText("link domain " + std::to_string(i), domains_[i].width - 12, measure);
    shapes.labels.push_back({{domains_[i].x + 6, domains_[i].y + 2, domains_[i].width - 12, kFrameTitle - 3},
                             words,
                             ColourRole::free});
  }
}

Shapes Topology::draw(const TextMeasure& measure, int marked) const {
  Shapes shapes;
  drawFrames(measure, shapes);
  if (chipCount() > kMostChips) return shapes;
  std::vector<std::size_t> order(linked() ? links_.size() : 0);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return links_[i].share; });
  for (const std::size_t i : order) {
    const bool isMarked = marked == chipCount() + static_cast<int>(i);
    for (Line line : linesOf(links_[i])) {
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
  shapes.labels.push_back(
      {own.note.empty() ? box : upper, fitText(own.name, box.width - 6, measure), own.role});
  if (!own.note.empty())
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
  for (std::size_t i = 0; linked() && i < links_.size(); ++i) {
    // The busiest link counts where several cross.
    double far = kTopologyReach;
    for (const Line& line : linesOf(links_[i])) far = std::min(far, distanceTo(line, x, y));
    const bool isBetter = nearest < 0 || links_[i].share > links_[static_cast<std::size_t>(nearest)].share ||
                          (links_[i].share == links_[static_cast<std::size_t>(nearest)].share && far < least);
    if (far < kTopologyReach && isBetter) nearest = static_cast<int>(i), least = far;
  }
  return nearest < 0 ? -1 : chipCount() + nearest;
}

Box Topology::boxOf(int item) const {
  if (item < 0 || item >= chipCount() + static_cast<int>(links_.size())) return {};
  if (item < chipCount()) return places_[static_cast<std::size_t>(item)];
  if (!linked()) return {};
  Box around;
  for (const Line& line : linesOf(links_[static_cast<std::size_t>(item - chipCount())])) {
    const Box one{std::min(line.x1, line.x2), std::min(line.y1, line.y2),
                  std::max(1, std::abs(line.x1 - line.x2)), std::max(1, std::abs(line.y1 - line.y2))};
    if (around.width == 0) around = one;
    const int right = std::max(around.right(), one.right()), bottom = std::max(around.bottom(), one.bottom());
    around.x = std::min(around.x, one.x), around.y = std::min(around.y, one.y);
    around.width = right - around.x, around.height = bottom - around.y;
  }
  return around;
}

}  // namespace pipescope::geometry
