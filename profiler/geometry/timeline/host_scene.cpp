#include "profiler/geometry/timeline/host_scene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace pipescope::geometry {
namespace {

using analysis::HostCurve;
using analysis::HostItem;
using analysis::HostLane;
using analysis::HostTimeline;

/// These come first, so that their colours are the same in every profile.
constexpr std::array<const char*, 7> kOwnChannels = {"numerics", "data",     "emulator", "compiler",
                                                     "run",      "profiler", "instances"};
constexpr int kHostTolerance = 3, kNarrowestText = 24;

/// The spans of one row of a thread.
struct RowOfSpans {
  const HostLane& lane;
  const std::vector<std::int32_t>& places;
  const HostItem& at(std::size_t i) const { return lane.spans[static_cast<std::size_t>(places[i])]; }
};

template <class Items, class LengthOf>
WidestIndex hostIndexOf(const Items& items, const LengthOf& lengthOf) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(items.size());
  for (const auto& item : items) lengths.push_back(lengthOf(item));
  return WidestIndex(std::move(lengths));
}

}  // namespace

HostScene::HostScene(std::shared_ptr<const HostTimeline> timeline) : timeline_(std::move(timeline)) {
  if (!timeline_) return;
  channels_.assign(kOwnChannels.begin(), kOwnChannels.end());
  for (const analysis::HostLabel& label : timeline_->names) {
    if (std::ranges::find(channels_, label.channel) == channels_.end()) channels_.push_back(label.channel);
    roles_.push_back(roleOfChannel(label.channel));
  }
  calls_ = hostIndexOf(timeline_->calls, [](const auto& call) { return (call.end - call.start).count; });
  const auto add = [&](Band::Kind kind, std::size_t place, int height) {
    bands_.push_back({kind, place, height_, height});
    height_ += height + kGap;
  };
  for (std::size_t c = 0; c < timeline_->curves.size(); ++c) {
    if (!timeline_->curves[c].pinned) continue;
    bands_.push_back({Band::Kind::curve, c, height_, kPinned, true});
    height_ += kPinned + kGap / 2;
    pinned_ = height_;
  }
  if (pinned_ > 0) height_ += kGap / 2;
  if (!timeline_->calls.empty()) add(Band::Kind::calls, 0, kRow);
  for (std::size_t l = 0; l < timeline_->lanes.size(); ++l) {
    const HostLane& lane = timeline_->lanes[l];
    Lane& index = lanes_.emplace_back();
    for (const std::vector<std::int32_t>& row : lane.rows)
      index.rows.push_back(hostIndexOf(row, [&](std::int32_t place) {
        return lane.spans[static_cast<std::size_t>(place)].length().count;
      }));
    const int rows = static_cast<int>(lane.rows.size()) + (lane.events.empty() ? 0 : 1);
    add(Band::Kind::lane, l, std::max(1, rows) * kRow);
  }
  for (std::size_t c = 0; c < timeline_->curves.size(); ++c)
    if (!timeline_->curves[c].pinned) add(Band::Kind::curve, c, kCurve);
}

ColourRole HostScene::roleOfChannel(const std::string& channel) const {
  if (channel == analysis::kWaitingChannel) return ColourRole::waitHost;
  const auto place = std::ranges::find(channels_, channel);
  return seriesRole(static_cast<int>(place - channels_.begin()) % kSeriesColours);
}

Shapes HostScene::draw(const TimeView& view, int top, int height, const TextMeasure& measure,
                       int only) const {
  Shapes shapes;
  for (const Band& band : bands_) {
    const int y = band.y - top;
    if (band.pinned || y + band.height <= 0 || y >= height) continue;
    if (band.kind == Band::Kind::calls) drawCalls(shapes, band, view, y, measure);
    if (band.kind == Band::Kind::lane) drawLane(shapes, band, view, y, measure, only);
    if (band.kind == Band::Kind::curve) drawCurve(shapes, band, view, y);
  }
  return shapes;
}

Shapes HostScene::drawPinned(const TimeView& view) const {
  Shapes shapes;
  for (const Band& band : bands_)
    if (band.pinned) drawCurve(shapes, band, view, band.y);
  return shapes;
}

void HostScene::drawCalls(Shapes& shapes, const Band& band, const TimeView& view, int y,
                          const TextMeasure& measure) const {
  const auto& calls = timeline_->calls;
  foldVisible(
      calls_, view, {0, view.width()}, [&](std::size_t i) { return calls[i].start; },
      [&](std::size_t i) { return calls[i].end; },
      [&](const Folded& folded) {
        // A gap of a pixel separates calls that follow each other.
        const int gap = folded.right - folded.x > 3 ? 1 : 0;
        const Box box{folded.x, y + 1, folded.right - folded.x - gap, band.height - 2};
        shapes.fill(ColourRole::control, box);
        if (!folded.alone() || box.width < kNarrowestText) return;
        const std::string text = fitLastWords(calls[folded.shown].name, box.width - 6, measure);
        if (!text.empty()) shapes.labels.push_back({box, text, ColourRole::control});
      });
}

void HostScene::drawLane(Shapes& shapes, const Band& band, const TimeView& view, int y,
                         const TextMeasure& measure, int only) const {
  const HostLane& lane = timeline_->lanes[band.place];
  for (std::size_t r = 0; r < lane.rows.size(); ++r) {
    const RowOfSpans row{lane, lane.rows[r]};
    const int rowTop = y + static_cast<int>(r) * kRow;
    foldVisible(
        lanes_[band.place].rows[r], view, {0, view.width()}, [&](std::size_t i) { return row.at(i).start; },
        [&](std::size_t i) { return row.at(i).end; },
        [&](const Folded& folded) {
          const HostItem& item = row.at(folded.shown);
          const bool dimmed = only >= 0 && item.name != only;
          const ColourRole role = dimmed ? ColourRole::dimmed : roleOfName(item.name);
          const int gap = folded.right - folded.x > 3 ? 1 : 0;
          const Box box{folded.x, rowTop, folded.right - folded.x - gap, kRow - 1};
          if (!folded.alone() || box.width < kNarrowestText) return shapes.extend(role, box);
          shapes.fill(role, box);
          const std::string& name = timeline_->names[static_cast<std::size_t>(item.name)].name;
          const std::string text = fitText(name, box.width - 6, measure);
          if (!text.empty()) shapes.labels.push_back({box, text, role});
        });
  }
  int last = -kHostTolerance;  // events closer than that share a flag
  const int rowTop = y + static_cast<int>(lane.rows.size()) * kRow;
  auto mark = std::ranges::lower_bound(lane.events, view.start(), {}, &analysis::HostMark::time);
  while (mark != lane.events.end() && mark->time <= view.end()) {
    const int x = view.column(mark->time);
    if (x >= last + kHostTolerance) {
      const bool dimmed = only >= 0 && mark->name != only;
      shapes.fill(dimmed ? ColourRole::dimmed : roleOfName(mark->name), {x - 1, rowTop + 2, 3, kRow - 5});
      last = x;
    }
    // Skips what lies on the same pixels, because a thread may have millions of events.
    const Ticks next = std::max(view.firstAt(std::max(x, last) + 1), mark->time + Ticks(1));
    mark = std::lower_bound(mark, lane.events.end(), next,
                            [](const analysis::HostMark& event, Ticks time) { return event.time < time; });
  }
}

void HostScene::drawCurve(Shapes& shapes, const Band& band, const TimeView& view, int y) const {
  const HostCurve& curve = timeline_->curves[band.place];
  const double low = std::min(0.0, curve.smallest), high = std::max({curve.largest, 0.0, low + 1e-300});
  const auto heightOf = [&](double value) {
    return std::max(1, static_cast<int>(std::lround((value - low) / (high - low) * (band.height - 4))));
  };
  const ColourRole role = seriesRole(static_cast<int>(band.place) + 3);
  auto point = std::ranges::upper_bound(curve.points, view.start(), {}, &analysis::HostPoint::time);
  if (point != curve.points.begin()) --point;
  while (point != curve.points.end() && point->time <= view.end()) {
    const int x = std::max(0, view.column(point->time));
    // The largest value of each column of pixels is drawn, so that no peak is lost.
    const Ticks next = view.firstAt(x + 1);
    double largest = point->value;
    auto after = point;
    while (after != curve.points.end() && (after == point || after->time < next))
      largest = std::max(largest, (after++)->value);
    const int right = after == curve.points.end() ? view.column(timeline_->end) : view.column(after->time);
    const int tall = heightOf(largest);
    shapes.fill(role, {x, y + band.height - 2 - tall, std::max(1, std::min(right, view.width()) - x), tall});
    point = after;
  }
}

Shapes HostScene::overview(const TimeView& view, int height) const {
  Shapes shapes;
  if (!timeline_) return shapes;
  const auto lanes = static_cast<int>(timeline_->lanes.size());
  for (int l = 0; l < lanes; ++l) {
    const HostLane& lane = timeline_->lanes[static_cast<std::size_t>(l)];
    const int top = height * l / lanes, tall = std::max(1, height * (l + 1) / lanes - top - 1);
    // The second row says more than one span around everything.
    const std::size_t wanted = lane.rows.size() > 1 && lane.rows[0].size() * 4 < lane.rows[1].size() ? 1 : 0;
    if (wanted >= lane.rows.size()) continue;
    const RowOfSpans row{lane, lane.rows[wanted]};
    foldVisible(
        lanes_[static_cast<std::size_t>(l)].rows[wanted], view, {0, view.width()},
        [&](std::size_t i) { return row.at(i).start; }, [&](std::size_t i) { return row.at(i).end; },
        [&](const Folded& folded) {
          shapes.extend(roleOfName(row.at(folded.shown).name),
                        {folded.x, top, folded.right - folded.x, tall});
        });
  }
  return shapes;
}

std::optional<HostHit> HostScene::hit(const TimeView& view, int top, int x, int y) const {
  const bool isPinned = y < pinned_;
  for (const Band& band : bands_) {
    if (band.pinned != isPinned) continue;
    const int inside = y + (isPinned ? 0 : top) - band.y;
    if (inside < 0 || inside >= band.height) continue;
    if (band.kind == Band::Kind::lane) return hitLane(band, view, x, inside);
    if (band.kind == Band::Kind::calls) {
      const auto& calls = timeline_->calls;
      const std::size_t found = pickAt(
          calls_, view, x, kHostTolerance, [&](std::size_t i) { return calls[i].start; },
          [&](std::size_t i) { return calls[i].end; });
      if (found < calls.size()) return HostHit{HostHit::Kind::call, 0, found};
      return {};
    }
    const auto& points = timeline_->curves[band.place].points;
    const auto after = std::ranges::upper_bound(points, view.time(x + 1), {}, &analysis::HostPoint::time);
    if (after == points.begin()) return {};
    return HostHit{HostHit::Kind::curve, band.place, static_cast<std::size_t>(after - points.begin() - 1)};
  }
  return {};
}

std::optional<HostHit> HostScene::hitLane(const Band& band, const TimeView& view, int x, int y) const {
  const HostLane& lane = timeline_->lanes[band.place];
  const auto r = static_cast<std::size_t>(y / kRow);
  if (r < lane.rows.size()) {
    const RowOfSpans row{lane, lane.rows[r]};
    const std::size_t found = pickAt(
        lanes_[band.place].rows[r], view, x, kHostTolerance, [&](std::size_t i) { return row.at(i).start; },
        [&](std::size_t i) { return row.at(i).end; });
    if (found < row.places.size())
      return HostHit{HostHit::Kind::span, band.place, static_cast<std::size_t>(row.places[found])};
    return {};
  }
  const auto near =
      std::ranges::lower_bound(lane.events, view.time(x - kHostTolerance), {}, &analysis::HostMark::time);
  if (near == lane.events.end() || view.x(near->time) > x + kHostTolerance) return {};
  return HostHit{HostHit::Kind::event, band.place, static_cast<std::size_t>(near - lane.events.begin())};
}

std::pair<Ticks, Ticks> HostScene::timesOf(const HostHit& hit) const {
  switch (hit.kind) {
    case HostHit::Kind::call:
      return {timeline_->calls[hit.index].start, timeline_->calls[hit.index].end};
    case HostHit::Kind::span:
      return {timeline_->lanes[hit.lane].spans[hit.index].start,
              timeline_->lanes[hit.lane].spans[hit.index].end};
    case HostHit::Kind::event:
      return {timeline_->lanes[hit.lane].events[hit.index].time,
              timeline_->lanes[hit.lane].events[hit.index].time};
    case HostHit::Kind::curve:
      break;
  }
  const Ticks time = timeline_->curves[hit.lane].points[hit.index].time;
  return {time, time};
}

Box HostScene::boxOf(const TimeView& view, int top, const HostHit& hit) const {
  const auto [start, end] = timesOf(hit);
  const int x = view.column(start), right = std::max(view.column(end), x + 1);
  for (const Band& band : bands_) {
    const bool isOf = hit.kind == HostHit::Kind::call ? band.kind == Band::Kind::calls
                      : hit.kind == HostHit::Kind::curve
                          ? band.kind == Band::Kind::curve && band.place == hit.lane
                          : band.kind == Band::Kind::lane && band.place == hit.lane;
    if (!isOf) continue;
    const int y = band.y - (band.pinned ? 0 : top);
    if (hit.kind == HostHit::Kind::curve) return {x, y, right - x, band.height};
    if (hit.kind == HostHit::Kind::call) return {x, y + 1, right - x, band.height - 2};
    const HostLane& lane = timeline_->lanes[hit.lane];
    const std::size_t row =
        hit.kind == HostHit::Kind::event
            ? lane.rows.size()
            : std::min(static_cast<std::size_t>(lane.spans[hit.index].row), lane.rows.size());
    return {x, y + static_cast<int>(row) * kRow, right - x, kRow - 1};
  }
  return {};
}

std::optional<HostHit> HostScene::neighbour(const HostHit& hit, int direction) const {
  const auto within = [&](std::size_t size) -> std::optional<HostHit> {
    const auto next = static_cast<std::ptrdiff_t>(hit.index) + direction;
    if (next < 0 || next >= static_cast<std::ptrdiff_t>(size)) return {};
    return HostHit{hit.kind, hit.lane, static_cast<std::size_t>(next)};
  };
  if (hit.kind == HostHit::Kind::call) return within(timeline_->calls.size());
  if (hit.kind == HostHit::Kind::curve) return within(timeline_->curves[hit.lane].points.size());
  const HostLane& lane = timeline_->lanes[hit.lane];
  if (hit.kind == HostHit::Kind::event) return within(lane.events.size());
  const HostItem& item = lane.spans[hit.index];
  if (item.row >= HostItem::kMostRows) return {};
  const std::vector<std::int32_t>& row = lane.rows[static_cast<std::size_t>(item.row)];
  const auto at = std::ranges::lower_bound(row, static_cast<std::int32_t>(hit.index));
  const std::ptrdiff_t next = at - row.begin() + direction;
  if (next < 0 || next >= static_cast<std::ptrdiff_t>(row.size())) return {};
  return HostHit{hit.kind, hit.lane, static_cast<std::size_t>(row[static_cast<std::size_t>(next)])};
}

std::optional<HostHit> HostScene::inward(const HostHit& hit, int direction) const {
  if (hit.kind != HostHit::Kind::span) return {};
  const HostLane& lane = timeline_->lanes[hit.lane];
  const HostItem& item = lane.spans[hit.index];
  if (direction < 0) {
    if (item.parent < 0) return {};
    return HostHit{hit.kind, hit.lane, static_cast<std::size_t>(item.parent)};
  }
  // Spans within a span follow it in the list.
  for (std::size_t i = hit.index + 1; i < lane.spans.size() && lane.spans[i].start < item.end; ++i) {
    if (lane.spans[i].parent == static_cast<std::int32_t>(hit.index)) return HostHit{hit.kind, hit.lane, i};
  }
  return {};
}

std::optional<HostHit> HostScene::find(const HostHit& before, std::pair<Ticks, Ticks> times) const {
  const auto search = [&](const auto& items, const auto& isSame) -> std::optional<HostHit> {
    // Rows are only added, so it cannot lie further in front.
    for (std::size_t i = before.index; i < items.size(); ++i)
      if (isSame(items[i])) return HostHit{before.kind, before.lane, i};
    return {};
  };
  const auto spansBoth = [&](const auto& item) {
    return item.start == times.first && item.end == times.second;
  };
  const auto isThen = [&](const auto& item) { return item.time == times.first; };
  if (before.kind == HostHit::Kind::call) return search(timeline_->calls, spansBoth);
  if (before.kind == HostHit::Kind::curve)
    return before.lane < timeline_->curves.size() ? search(timeline_->curves[before.lane].points, isThen)
                                                  : std::nullopt;
  if (before.lane >= timeline_->lanes.size()) return {};
  const HostLane& lane = timeline_->lanes[before.lane];
  return before.kind == HostHit::Kind::event ? search(lane.events, isThen) : search(lane.spans, spansBoth);
}

std::optional<HostHit> HostScene::first() const {
  for (std::size_t l = 0; timeline_ && l < timeline_->lanes.size(); ++l) {
    if (!timeline_->lanes[l].spans.empty()) return HostHit{HostHit::Kind::span, l, 0};
  }
  return {};
}

}  // namespace pipescope::geometry
