// What lies where on a timeline, what belongs together: the questions of pointing and selecting.
#include <algorithm>
#include <cctype>

#include "profiler/geometry/box_times.h"
#include "profiler/geometry/element.h"
#include "profiler/geometry/timeline_scene.h"

namespace pipescope::geometry {
namespace {

/// Narrow things are found within this many pixels.
constexpr int kTolerance = 2;
/// Placements without the wanted row that are passed over when the next box is looked for.
constexpr int kFarthest = 100'000;

}  // namespace

TimelineItem TimelineScene::itemAt(const TimelineWindow& window, int x, int y) const {
  if (!model_) return {};
  const int hit = layout_.rowAt(y + window.top);
  if (hit < 0 || x < 0 || x >= window.view.width()) return {};
  const TimelineRow& row = at(layout_.rows, hit);
  if (row.kind == RowKind::flame || row.kind == RowKind::flat) return stepItemAt(hit, window.view, x);
  if (row.kind == RowKind::tiles) {
    if (!model_->tiles || !model_->tiles->recorded) return {};
    TimelineItem item = stepItemAt(hit, window.view, x);
    const std::int64_t units = at(model_->trace->devices, row.device).units;
    if (item) item.unit = static_cast<int>((y + window.top - row.y) * units / std::max(1, row.height));
    return item;
  }
  if (row.kind == RowKind::wall) {
    const auto& runs = model_->trace->runs;
    const Ticks time = window.view.time(x);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].start <= time && time < runs[i].end) return wallItem(hit, static_cast<std::ptrdiff_t>(i));
    }
    return {};
  }
  if (row.kind == RowKind::counter)
    return counterItem(hit, analysis::pointAt(at(*model_->counters, row.lane), window.view.time(x + 1)));
  if (row.kind == RowKind::transfer) {
    const auto& lane = at(at(model_->trace->devices, row.device).transferLanes, row.lane);
    const auto transfer = [&](std::size_t i) -> const model::Transfer& {
      return at(model_->trace->transfers, lane.transfers[i]);
    };
    const WidestIndex& index = at(at(model_->transfers, row.device), row.lane);
    const std::size_t found = pickAt(
        index, window.view, x, kTolerance, [&](std::size_t i) { return transfer(i).start; },
        [&](std::size_t i) { return transfer(i).end; });
    if (found == index.size()) return {};
    return {TimelineItem::Kind::transfer, hit, row.device, 0,
            lane.transfers[found],        -1,  -1,         transfer(found).start,
            transfer(found).end};
  }
  const analysis::TraceTrack& from = track(row);
  const WidestIndex& index = at(at(model_->tracks, row.device), row.track).activities;
  const std::size_t found = pickAt(
      index, window.view, x, kTolerance, [&](std::size_t i) { return from.activities[i].start; },
      [&](std::size_t i) { return from.activities[i].end; });
  return found == index.size() ? TimelineItem{} : activityItem(hit, found);
}

TimelineItem TimelineScene::stepItemAt(int hit, const TimeView& view, int x) const {
  const TimelineRow& row = at(layout_.rows, hit);
  const analysis::TraceTrack& from = track(row);
  const WidestIndex& placements = at(at(model_->tracks, row.device), row.track).placements;
  const std::size_t found = pickAt(
      placements, view, x, 0, [&](std::size_t i) { return from.placements[i].start; },
      [&](std::size_t i) { return from.placements[i].end; });
  if (found == placements.size()) return {};
  const WidestIndex* index = nullptr;
  const analysis::FlameRow* boxes = flameRow(row, from.placements[found], &index);
  if (boxes == nullptr) return {};
  const BoxTimes times(*model_->trace, row.device, from.placements[found], *boxes);
  const std::size_t box = pickAt(
      *index, view, x, kTolerance, [&](std::size_t i) { return times.start(i); },
      [&](std::size_t i) { return times.end(i); });
  return box == index->size() ? TimelineItem{} : boxItem(hit, found, box);
}

TimelineItem TimelineScene::activityItem(int row, std::size_t index) const {
  const TimelineRow& place = at(layout_.rows, row);
  const analysis::Activity& activity = track(place).activities[index];
  using Activity = analysis::Activity;
  const auto kind = activity.kind == Activity::Kind::wait   ? TimelineItem::Kind::wait
                    : activity.kind == Activity::Kind::pass ? TimelineItem::Kind::pass
                    : activity.kind == Activity::Kind::far  ? TimelineItem::Kind::far
                                                            : TimelineItem::Kind::transfer;
  return {kind, row, place.device, place.track, activity.index, -1, -1, activity.start, activity.end};
}

TimelineItem TimelineScene::wallItem(int row, std::ptrdiff_t run) const {
  const auto& runs = model_->trace->runs;
  if (run < 0 || run >= static_cast<std::ptrdiff_t>(runs.size())) return {};
  const model::Run& of = at(runs, run);
  if (of.wallEndNs <= of.wallStartNs) return {};
  return {TimelineItem::Kind::wall, row, kHost, 0, static_cast<int>(run), -1, -1, of.start, of.end};
}

const analysis::FlameBox* TimelineScene::flameBox(const TimelineItem& item) const {
  if (item.kind != TimelineItem::Kind::group && item.kind != TimelineItem::Kind::step) return nullptr;
  const TimelineRow& row = at(layout_.rows, item.row);
  const WidestIndex* index = nullptr;
  const analysis::FlameRow* boxes = flameRow(row, at(track(row).placements, item.placement), &index);
  const auto box = static_cast<std::size_t>(item.box);
  return boxes == nullptr || box >= boxes->boxes.size() ? nullptr : &boxes->boxes[box];
}

std::vector<analysis::UnitRun> TimelineScene::unitsOf(const TimelineItem& item) const {
  const analysis::FlameBox* box = flameBox(item);
  if (box == nullptr || box->step < 0 || !model_->tiles) return {};
  const auto& placement = at(track(at(layout_.rows, item.row)).placements, item.placement);
  const auto segment = static_cast<std::size_t>(placement.segment),
             step = static_cast<std::size_t>(box->step);
  const auto& steps = model_->tiles->steps;
  if (segment >= steps.size() || step >= steps[segment].size()) return {};
  return steps[segment][step];
}

TimelineItem TimelineScene::counterItem(int row, std::ptrdiff_t point) const {
  const TimelineRow& place = at(layout_.rows, row);
  const auto& points = at(*model_->counters, place.lane).points;
  if (point < 0 || point >= static_cast<std::ptrdiff_t>(points.size())) return {};
  const bool last = point + 1 == static_cast<std::ptrdiff_t>(points.size());
  return {TimelineItem::Kind::counter,
          row,
          place.device,
          0,
          static_cast<int>(point),
          -1,
          -1,
          at(points, point).time,
          last ? std::max(at(points, point).time, model_->trace->end) : at(points, point + 1).time};
}

TimelineItem TimelineScene::boxItem(int row, std::size_t placement, std::size_t box) const {
  const TimelineRow& place = at(layout_.rows, row);
  const analysis::TracePlacement& from = track(place).placements[placement];
  const WidestIndex* index = nullptr;
  const analysis::FlameRow* boxes = flameRow(place, from, &index);
  if (boxes == nullptr || box >= boxes->boxes.size()) return {};
  const BoxTimes times(*model_->trace, place.device, from, *boxes);
  const auto kind = boxes->boxes[box].step < 0 ? TimelineItem::Kind::group : TimelineItem::Kind::step;
  return {kind,
          row,
          place.device,
          place.track,
          -1,
          static_cast<int>(placement),
          static_cast<int>(box),
          times.start(box),
          times.end(box)};
}

std::optional<Box> TimelineScene::boxOf(const TimelineWindow& window, const TimelineItem& item) const {
  if (!item || item.row < 0 || item.row >= static_cast<int>(layout_.rows.size())) return std::nullopt;
  const TimelineRow& row = at(layout_.rows, item.row);
  const int width = window.view.width();
  const double left = window.view.x(item.start), right = window.view.x(item.end);
  if (right < 0 || left >= width || row.y + row.height <= window.top || row.y >= window.top + window.height)
    return std::nullopt;
  const int x = std::max(0, window.view.column(item.start)),
            end = std::min(width, std::max(x + 1, window.view.column(item.end)));
  return Box{x, row.y - window.top, end - x, row.height};
}

TimelineItem TimelineScene::neighbour(const TimelineItem& item, int direction) const {
  if (!item || item.row < 0 || item.row >= static_cast<int>(layout_.rows.size())) return {};
  const TimelineRow& row = at(layout_.rows, item.row);
  const auto step = static_cast<std::ptrdiff_t>(direction);
  if (row.kind == RowKind::flame || row.kind == RowKind::flat || row.kind == RowKind::tiles)
    return nextBox(item, direction);
  if (row.kind == RowKind::wall) return wallItem(item.row, item.index + direction);
  if (row.kind == RowKind::counter) return counterItem(item.row, item.index + direction);
  if (row.kind == RowKind::transfer) {
    const auto& lane = at(at(model_->trace->devices, row.device).transferLanes, row.lane).transfers;
    const auto place = std::lower_bound(lane.begin(), lane.end(), item.index) - lane.begin() + step;
    if (place < 0 || place >= static_cast<std::ptrdiff_t>(lane.size())) return {};
    TimelineItem next = transferItem(at(lane, place));
    next.row = item.row;
    return next;
  }
  const auto& activities = track(row).activities;
  const auto now = std::partition_point(activities.begin(), activities.end(),
                                        [&](const analysis::Activity& a) { return a.start < item.start; });
  const auto place = now - activities.begin() + step;
  if (place < 0 || place >= static_cast<std::ptrdiff_t>(activities.size())) return {};
  return activityItem(item.row, static_cast<std::size_t>(place));
}

TimelineItem TimelineScene::nextBox(const TimelineItem& item, int direction) const {
  const TimelineRow& row = at(layout_.rows, item.row);
  const auto& placements = track(row).placements;
  const WidestIndex* index = nullptr;
  int placement = item.placement, box = item.box + direction;
  for (int passed = 0;
       passed < kFarthest && placement >= 0 && placement < static_cast<int>(placements.size()); ++passed) {
    const analysis::FlameRow* boxes = flameRow(row, at(placements, placement), &index);
    const int count = boxes == nullptr ? 0 : static_cast<int>(boxes->boxes.size());
    if (box >= 0 && box < count)
      return boxItem(item.row, static_cast<std::size_t>(placement), static_cast<std::size_t>(box));
    placement += direction;
    if (direction > 0) {
      box = 0;
    } else if (placement >= 0) {
      boxes = flameRow(row, at(placements, placement), &index);
      box = boxes == nullptr ? -1 : static_cast<int>(boxes->boxes.size()) - 1;
    }
  }
  return {};
}

std::string TimelineScene::labelOf(const TimelineItem& item) const {
  if (!item) return {};
  const analysis::Trace& trace = *model_->trace;
  if (item.kind == TimelineItem::Kind::counter) return at(layout_.rows, item.row).label;
  if (item.kind == TimelineItem::Kind::wall) return at(trace.runs, item.index).name;
  if (item.kind == TimelineItem::Kind::transfer) {
    const model::Transfer& row = at(trace.transfers, item.index);
    return model::toString(row.kind) + (row.microBatch >= 0 ? " " + std::to_string(row.microBatch) : "");
  }
  const analysis::TraceTrack& from = at(at(trace.devices, item.device).tracks, item.track);
  if (item.kind == TimelineItem::Kind::wait) return model::toString(at(from.waits, item.index).cause);
  if (item.kind == TimelineItem::Kind::far) {
    const analysis::FarSpan& span = at(from.far, item.index);
    return std::to_string(span.rows) + " passes, mostly " + model::toString(span.pass);
  }
  if (item.kind == TimelineItem::Kind::pass) {
    const auto& first = at(from.placements, at(from.passes, item.index).firstPlacement);
    return passLabel(first.pass, first.microBatch);
  }
  const WidestIndex* index = nullptr;
  const analysis::FlameRow* boxes =
      flameRow(at(layout_.rows, item.row), at(from.placements, item.placement), &index);
  if (boxes == nullptr) return {};
  const analysis::FlameBox& box = at(boxes->boxes, item.box);
  const std::string& name = at(trace.names, box.name);
  return name.empty() ? "steps, mostly " + model::toString(box.kind) : name;
}

std::string TimelineScene::pathOf(const TimelineItem& item) const {
  if (item.kind != TimelineItem::Kind::group && item.kind != TimelineItem::Kind::step) return {};
  const analysis::Trace& trace = *model_->trace;
  TimelineRow row = at(layout_.rows, item.row);
  const analysis::TracePlacement& placement = at(track(row).placements, item.placement);
  const WidestIndex* index = nullptr;
  const analysis::FlameRow* boxes = flameRow(row, placement, &index);
  if (boxes == nullptr) return {};
  const analysis::FlameBox& box = at(boxes->boxes, item.box);
  if (box.step >= 0) return at(trace.names, at(trace.segmentOf(placement)->stepNames, box.step));
  // Above a group lie the groups that hold it.
  std::string path;
  const int last = row.level;
  for (row.level = 0; row.level <= last; ++row.level) {
    const analysis::FlameRow* above = flameRow(row, placement, &index);
    const auto holds = std::partition_point(above->boxes.begin(), above->boxes.end(),
                                            [&](const analysis::FlameBox& b) { return b.end <= box.offset; });
    path += (path.empty() ? "" : "/") + at(trace.names, holds->name);
  }
  return path;
}

int TimelineScene::rowOf(RowKind kind, int device, int track, int lane) const {
  for (std::size_t i = 0; i < layout_.rows.size(); ++i) {
    const TimelineRow& row = layout_.rows[i];
    if (row.kind == kind && row.device == device && row.track == track && row.lane == lane)
      return static_cast<int>(i);
  }
  return -1;
}

TimelineItem TimelineScene::passItem(const analysis::PlacementPlace& place) const {
  const analysis::TraceTrack& from = at(at(model_->trace->devices, place.device).tracks, place.track);
  const auto after = std::upper_bound(
      from.passes.begin(), from.passes.end(), place.index,
      [](std::int32_t index, const analysis::PassSpan& pass) { return index < pass.firstPlacement; });
  if (after == from.passes.begin()) return {};
  const auto pass = std::prev(after);
  return {TimelineItem::Kind::pass,
          rowOf(RowKind::activity, place.device, place.track, 0),
          place.device,
          place.track,
          static_cast<int>(pass - from.passes.begin()),
          -1,
          -1,
          pass->start,
          pass->end};
}

TimelineItem TimelineScene::waitItem(int device, int index) const {
  const auto& waits = at(model_->trace->devices, device).tracks.front().waits;
  const model::Wait& wait = at(waits, index);
  return {TimelineItem::Kind::wait,
          rowOf(RowKind::activity, device, 0, 0),
          device,
          0,
          index,
          -1,
          -1,
          wait.start,
          wait.end};
}

TimelineItem TimelineScene::transferItem(int transfer) const {
  const analysis::Trace& trace = *model_->trace;
  const model::Transfer& row = at(trace.transfers, transfer);
  TimelineItem item{TimelineItem::Kind::transfer,
                    -1,
                    trace.deviceOfLane(row.fromLane),
                    0,
                    transfer,
                    -1,
                    -1,
                    row.start,
                    row.end};
  if (item.device < 0) item.device = trace.deviceOfLane(row.toLane);
  const auto& lanes = at(trace.devices, item.device).transferLanes;
  for (std::size_t lane = 0; lane < lanes.size() && item.row < 0; ++lane) {
    if (!std::binary_search(lanes[lane].transfers.begin(), lanes[lane].transfers.end(), transfer)) continue;
    item.row = rowOf(RowKind::transfer, item.device, 0, static_cast<int>(lane));
  }
  if (item.row < 0) item.row = rowOf(RowKind::activity, item.device, 0, 0);
  return item;
}

TimelineItem TimelineScene::waitedFor(const TimelineItem& wait) const {
  if (wait.kind != TimelineItem::Kind::wait) return {};
  const auto& waits = at(model_->trace->devices, wait.device).tracks.front().waits;
  const auto place = model_->trace->find(at(waits, wait.index).waitedFor);
  return place ? passItem(*place) : TimelineItem{};
}

int TimelineScene::centreOf(const TimelineWindow& window, int row) const {
  const TimelineRow& place = at(layout_.rows, row);
  return place.y + place.height / 2 - window.top;
}

void TimelineScene::addTransferArrow(const TimelineWindow& window, int transfer,
                                     std::vector<Arrow>& arrows) const {
  const analysis::Trace& trace = *model_->trace;
  const model::Transfer& row = at(trace.transfers, transfer);
  const int from = trace.deviceOfLane(row.fromLane), to = trace.deviceOfLane(row.toLane);
  if (from < 0 || to < 0) return;
  const auto rowOn = [&](int device) {
    const auto& lanes = at(trace.devices, device).transferLanes;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      if (!std::binary_search(lanes[lane].transfers.begin(), lanes[lane].transfers.end(), transfer)) continue;
      if (const int found = rowOf(RowKind::transfer, device, 0, static_cast<int>(lane)); found >= 0)
        return found;
    }
    return rowOf(RowKind::activity, device, 0, 0);
  };
  const int start = rowOn(from), end = rowOn(to);
  if (start < 0 || end < 0) return;
  arrows.push_back({window.view.column(row.start), centreOf(window, start), window.view.column(row.end),
                    centreOf(window, end), roleOf(row.kind)});
}

std::vector<int> TimelineScene::transfersOf(const TimelineItem& item) const {
  if (item.kind != TimelineItem::Kind::pass) return {};
  const analysis::Trace& trace = *model_->trace;
  const analysis::TraceTrack& from = at(at(trace.devices, item.device).tracks, item.track);
  const auto& pass = at(from.placements, at(from.passes, item.index).firstPlacement);
  const bool forward = pass.pass == model::Pass::forward;
  if (pass.microBatch < 0 || !model::isComputePass(pass.pass)) return {};
  const MicroBatchKey key{pass.run.value, pass.iteration, pass.microBatch};
  int before = -1, after = -1;  // the last one that arrived before the pass, the first one that left after it
  const auto& all = model_->transfersOf;
  for (auto next = std::lower_bound(all.begin(), all.end(), std::pair(key, -1));
       next != all.end() && next->first == key; ++next) {
    const model::Transfer& row = at(trace.transfers, next->second);
    if ((row.kind == model::TransferKind::activation) != forward) continue;
    if (trace.deviceOfLane(row.toLane) == item.device && row.end <= item.start) before = next->second;
    if (trace.deviceOfLane(row.fromLane) == item.device && row.start >= item.end && after < 0)
      after = next->second;
  }
  std::vector<int> found;
  for (const int transfer : {before, after}) {
    if (transfer >= 0) found.push_back(transfer);
  }
  return found;
}

TimelineItem TimelineScene::find(const std::string& text, const TimelineItem& from, int direction) const {
  if (!model_ || text.empty()) return {};
  const analysis::Trace& trace = *model_->trace;
  std::vector<char> matches;
  for (std::string name : trace.names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    matches.push_back(name.find(text) != std::string::npos ? 1 : 0);
  }
  // The order of search: by start, then by row.
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
  for (std::size_t r = 0; r < layout_.rows.size(); ++r) {
    const TimelineRow& row = layout_.rows[r];
    if (row.kind != RowKind::flame && row.kind != RowKind::flat) continue;
    const auto& placements = track(row).placements;
    const auto count = static_cast<std::ptrdiff_t>(placements.size());
    // From the placement that holds the start; enough of them to pass over those without a match.
    std::ptrdiff_t i = from ? std::partition_point(placements.begin(), placements.end(),
                                                   [&](const auto& p) { return p.end <= from.start; }) -
                                  placements.begin()
                            : 0;
    if (back) i = std::min(i, count - 1);
    for (int passed = 0; passed < kFarthest && i >= 0 && i < count; ++passed, i += back ? -1 : 1) {
      if (best && (back ? placements[static_cast<std::size_t>(i)].end < best.start
                        : best.start < placements[static_cast<std::size_t>(i)].start))
        break;
      const WidestIndex* index = nullptr;
      const analysis::FlameRow* boxes = flameRow(row, placements[static_cast<std::size_t>(i)], &index);
      bool any = false;
      for (std::size_t b = 0; boxes != nullptr && b < boxes->boxes.size(); ++b) {
        if (matches[static_cast<std::size_t>(boxes->boxes[b].name)] == 0) continue;
        const TimelineItem before = best;
        offer(boxItem(static_cast<int>(r), static_cast<std::size_t>(i), b));
        any = any || !(best == before);
      }
      if (any) break;
    }
  }
  return best;
}

TimelineItem TimelineScene::stepOf(model::ProgramId program, int device, Ticks from) const {
  if (!model_ || !program.valid()) return {};
  TimelineItem best;
  const auto better = [&](const TimelineItem& item) {
    const bool after = item.end > from, bestAfter = best.end > from;
    return !best || (after != bestAfter ? after : item.start < best.start);
  };
  for (std::size_t r = 0; r < layout_.rows.size(); ++r) {
    const TimelineRow& row = layout_.rows[r];
    if ((row.kind != RowKind::flame && row.kind != RowKind::flat) || (device >= 0 && row.device != device))
      continue;
    const auto& placements = track(row).placements;
    const auto first = std::partition_point(placements.begin(), placements.end(),
                                            [&](const auto& placement) { return placement.end <= from; });
    const auto lookAt = [&](auto begin, auto end) {
      for (auto at = begin; at != end && at - begin < kFarthest; ++at) {
        const WidestIndex* index = nullptr;
        const analysis::FlameRow* boxes = flameRow(row, *at, &index);
        if (boxes == nullptr) continue;
        const analysis::TraceSegment& segment = *model_->trace->segmentOf(*at);
        for (std::size_t b = 0; b < boxes->boxes.size(); ++b) {
          const std::int32_t step = boxes->boxes[b].step;
          if (step < 0 || segment.steps[static_cast<std::size_t>(step)].program != program) continue;
          const TimelineItem item =
              boxItem(static_cast<int>(r), static_cast<std::size_t>(at - placements.begin()), b);
          if (better(item)) best = item;
          return true;
        }
      }
      return false;
    };
    if (!lookAt(first, placements.end())) lookAt(placements.begin(), first);
  }
  return best;
}

std::vector<Arrow> TimelineScene::arrows(const TimelineWindow& window, const TimelineItem& item) const {
  std::vector<Arrow> arrows;
  if (!model_ || !item) return arrows;
  if (item.kind == TimelineItem::Kind::transfer) addTransferArrow(window, item.index, arrows);
  if (item.kind == TimelineItem::Kind::pass) {
    for (const int transfer : transfersOf(item)) addTransferArrow(window, transfer, arrows);
  }
  if (item.kind == TimelineItem::Kind::wait) {
    const TimelineItem cause = waitedFor(item);
    if (cause && cause.row >= 0 && item.row >= 0 && cause.row != item.row) {
      const auto& waits = at(model_->trace->devices, item.device).tracks.front().waits;
      arrows.push_back({window.view.column(cause.end), centreOf(window, cause.row),
                        window.view.column(item.end), centreOf(window, item.row),
                        roleOf(at(waits, item.index).cause)});
    }
  }
  return arrows;
}

}  // namespace pipescope::geometry
