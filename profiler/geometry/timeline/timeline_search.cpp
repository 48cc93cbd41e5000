#include "profiler/geometry/timeline/timeline_search.h"

#include <algorithm>

#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {

/// A search in a row gives up after this many placements.
constexpr int kMostSearched = 100'000;

bool sameKind(const analysis::Trace& trace, const TimelineItem& a, const TimelineItem& b) {
  using Kind = TimelineItem::Kind;
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::counter || a.kind == Kind::wall) return true;
  const analysis::TraceTrack& track = at(at(trace.devices, a.device).tracks, a.track);
  if (a.kind == Kind::wait) return at(track.waits, a.index).cause == at(track.waits, b.index).cause;
  if (a.kind == Kind::transfer) return at(trace.transfers, a.index).kind == at(trace.transfers, b.index).kind;
  if (a.kind != Kind::pass) return true;
  const auto pass = [&](const TimelineItem& item) {
    return at(track.placements, at(track.passes, item.index).firstPlacement).pass;
  };
  return pass(a) == pass(b);
}

}  // namespace

TimelineItem TimelineSearch::byName(const analysis::NameQuery& query, const TimelineItem& from,
                                    int direction) const {
  const FoundSteps found(*scene_.model()->trace, query);
  // Items are searched by start, and by row if starts are equal.
  const auto key = [](const TimelineItem& item) { return std::pair(item.start, item.row); };
  const bool back = direction < 0;
  TimelineItem best;
  const auto offer = [&](const TimelineItem& item) {
    if (from && (back             ? !(key(item) < key(from))
                 : direction == 0 ? key(item) < key(from)
                                  : !(key(from) < key(item))))
      return;
    if (!best || (back ? key(best) < key(item) : key(item) < key(best))) best = item;
  };
  const auto& rows = scene_.layout().rows;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const TimelineRow& row = rows[r];
    if (row.kind != RowKind::flame && row.kind != RowKind::flat) continue;
    const auto& placements = scene_.track(row).placements;
    const auto count = static_cast<std::ptrdiff_t>(placements.size());
    // The search starts at the placement that holds the start of `from`.
    std::ptrdiff_t i = from ? std::partition_point(placements.begin(), placements.end(),
                                                   [&](const auto& p) { return p.end <= from.start; }) -
                                  placements.begin()
                            : 0;
    if (back) i = std::min(i, count - 1);
    for (int tried = 0; tried < kMostSearched && i >= 0 && i < count; ++tried, i += back ? -1 : 1) {
      if (best && (back ? placements[static_cast<std::size_t>(i)].end < best.start
                        : best.start < placements[static_cast<std::size_t>(i)].start))
        break;
      const std::int32_t segment = placements[static_cast<std::size_t>(i)].segment;
      if (!found.any(segment)) continue;
      const PlacementBoxes boxes = scene_.boxesOf(row, placements[static_cast<std::size_t>(i)]);
      bool any = false;
      for (std::size_t b = 0; boxes && b < boxes.row->boxes.size(); ++b) {
        if (!found.step(segment, boxes.row->boxes[b].step)) continue;
        const TimelineItem before = best;
        offer(scene_.boxItem(static_cast<int>(r), static_cast<std::size_t>(i), b));
        any = any || !(best == before);
      }
      if (any) break;
    }
  }
  return best;
}

TimelineItem TimelineSearch::stepOf(model::ProgramId program, int device, Ticks from) const {
  if (!program.valid()) return {};
  TimelineItem best;
  const auto better = [&](const TimelineItem& item) {
    const bool after = item.end > from, bestAfter = best.end > from;
    return !best || (after != bestAfter ? after : item.start < best.start);
  };
  const auto& rows = scene_.layout().rows;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const TimelineRow& row = rows[r];
    if ((row.kind != RowKind::flame && row.kind != RowKind::flat) || (device >= 0 && row.device != device))
      continue;
    const auto& placements = scene_.track(row).placements;
    const auto first = std::partition_point(placements.begin(), placements.end(),
                                            [&](const auto& placement) { return placement.end <= from; });
    const auto search = [&](auto begin, bool anyTime) {
      for (auto at = begin; at != placements.end() && at - begin < kMostSearched; ++at) {
        const PlacementBoxes boxes = scene_.boxesOf(row, *at);
        if (!boxes) continue;
        const analysis::TraceSegment& segment = *scene_.model()->trace->segmentOf(*at);
        for (std::size_t b = 0; b < boxes.row->boxes.size(); ++b) {
          const std::int32_t step = boxes.row->boxes[b].step;
          if (step < 0 || segment.steps[static_cast<std::size_t>(step)].program != program) continue;
          const TimelineItem item =
              scene_.boxItem(static_cast<int>(r), static_cast<std::size_t>(at - placements.begin()), b);
          if (!anyTime && item.end <= from) continue;
          if (better(item)) best = item;
          return true;
        }
      }
      return false;
    };
    if (!search(first, false)) search(placements.begin(), true);
  }
  return best;
}

TimelineItem TimelineSearch::nextLike(const TimelineItem& item, int direction) const {
  constexpr int kMost = 200'000;  // items
  const bool named = item.kind == TimelineItem::Kind::step || item.kind == TimelineItem::Kind::group;
  const std::string name = named ? scene_.labelOf(item) : std::string();
  TimelineItem next = scene_.neighbour(item, direction);
  for (int tried = 0; next && tried < kMost; ++tried, next = scene_.neighbour(next, direction)) {
    if (named ? scene_.labelOf(next) == name : sameKind(*scene_.model()->trace, item, next)) return next;
  }
  return {};
}

}  // namespace pipescope::geometry
