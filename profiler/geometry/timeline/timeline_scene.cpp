#include "profiler/geometry/timeline/timeline_scene.h"

#include <algorithm>
#include <cmath>

#include "profiler/geometry/element.h"
#include "profiler/geometry/timeline/box_times.h"
#include "profiler/geometry/timeline/row_drawer.h"

namespace pipescope::geometry {
namespace {

/// Narrow items are found within this many pixels.
constexpr int kTolerance = 2;
/// The search for the next box gives up after this many placements that have none in the row.
constexpr int kMostPlacements = 100'000;

}  // namespace

std::string passLabel(model::Pass pass, int microBatch) {
  const std::string number = microBatch >= 0 ? std::to_string(microBatch) : std::string();
  switch (pass) {
    case model::Pass::forward:
      return "F" + number;
    case model::Pass::recompute:
      return "R" + number;
    case model::Pass::backward:
      return "B" + number;
    case model::Pass::weightGradient:
      return "W" + number;
    case model::Pass::update:
      return "U";
    case model::Pass::hostIn:
      return "in" + (number.empty() ? "" : " " + number);
    case model::Pass::hostOut:
      return "out" + (number.empty() ? "" : " " + number);
    default:
      return model::toString(pass);
  }
}

TimelineScene::TimelineScene(std::shared_ptr<const TimelineModel> model, TimelineLayout layout,
                             TimelineOptions options)
    : model_(std::move(model)), layout_(std::move(layout)), options_(std::move(options)) {
  if (model_ && !options_.find.empty())
    found_ = std::make_shared<const FoundSteps>(*model_->trace, options_.find);
}

Shapes TimelineScene::draw(const TimelineWindow& window, const TextMeasure& measure) const {
  Shapes shapes;
  if (!model_) return shapes;
  RowDrawer drawer(*this, window, measure, shapes);
  // Rows are sorted by y, so those above the window are skipped at once.
  auto row = std::partition_point(layout_.rows.begin(), layout_.rows.end(), [&](const TimelineRow& above) {
    return above.y + above.height <= window.top;
  });
  for (; row != layout_.rows.end() && row->y < window.top + window.height; ++row) drawer.draw(*row);
  return shapes;
}

// --- Positions ---

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
    if (item) item.unit = static_cast<int>((y + window.top - row.y) * units / row.height);
    return item;
  }
  if (row.kind == RowKind::wall) {
    const auto& runs = model_->trace->runs;
    const Ticks time = window.view.time(x);
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const model::Run& candidate) {
      return candidate.start <= time && time < candidate.end;
    });
    return wallItem(hit, run - runs.begin());
  }
  if (row.kind == RowKind::counter)
    return counterItem(hit, analysis::pointAt(at(*model_->counters, row.lane), window.view.time(x + 1)));
  if (row.kind == RowKind::transfer) return transferItemAt(hit, window.view, x);
  const analysis::TraceTrack& from = track(row);
  const WidestIndex& index = at(at(model_->tracks, row.device), row.track).activities;
  const std::size_t found = pickAt(
      index, window.view, x, kTolerance, [&](std::size_t i) { return from.activities[i].start; },
      [&](std::size_t i) { return from.activities[i].end; });
  return found == index.size() ? TimelineItem{} : activityItem(hit, found);
}

TimelineItem TimelineScene::transferItemAt(int hit, const TimeView& view, int x) const {
  const TimelineRow& row = at(layout_.rows, hit);
  const auto& lane = at(at(model_->trace->devices, row.device).transferLanes, row.lane);
  const auto transfer = [&](std::size_t i) -> const model::Transfer& {
    return at(model_->trace->transfers, lane.transfers[i]);
  };
  const WidestIndex& index = at(at(model_->transfers, row.device), row.lane);
  const std::size_t found = pickAt(
      index, view, x, kTolerance, [&](std::size_t i) { return transfer(i).start; },
      [&](std::size_t i) { return transfer(i).end; });
  if (found == index.size()) return {};
  return {.kind = TimelineItem::Kind::transfer,
          .row = hit,
          .device = row.device,
          .index = lane.transfers[found],
          .start = transfer(found).start,
          .end = transfer(found).end};
}

TimelineItem TimelineScene::stepItemAt(int hit, const TimeView& view, int x) const {
  const TimelineRow& row = at(layout_.rows, hit);
  const analysis::TraceTrack& from = track(row);
  const WidestIndex& placements = at(at(model_->tracks, row.device), row.track).placements;
  const std::size_t found = pickAt(
      placements, view, x, 0, [&](std::size_t i) { return from.placements[i].start; },
      [&](std::size_t i) { return from.placements[i].end; });
  if (found == placements.size()) return {};
  const PlacementBoxes boxes = boxesOf(row, from.placements[found]);
  if (!boxes) return {};
  const BoxTimes times(*model_->trace, row.device, from.placements[found], *boxes.row);
  const std::size_t box = pickAt(
      *boxes.index, view, x, kTolerance, [&](std::size_t i) { return times.start(i); },
      [&](std::size_t i) { return times.end(i); });
  return box == boxes.index->size() ? TimelineItem{} : boxItem(hit, found, box);
}

Ticks TimelineScene::snap(const TimelineWindow& window, int x, int y, int reach) const {
  Ticks best = window.view.time(x);
  double nearest = reach + 1.0;
  for (int shift = -reach; shift <= reach; ++shift) {
    const TimelineItem item = itemAt(window, x + shift, y);
    if (!item || item.kind == TimelineItem::Kind::counter) continue;
    for (const Ticks edge : {item.start, item.end}) {
      const double distance = std::abs(window.view.x(edge) - x);
      if (distance < nearest) nearest = distance, best = edge;
    }
  }
  return best;
}

std::optional<Box> TimelineScene::boxOf(const TimelineWindow& window, const TimelineItem& item) const {
  if (!item || item.row < 0) return std::nullopt;
  const TimelineRow& row = at(layout_.rows, item.row);
  const int width = window.view.width();
  const double left = window.view.x(item.start), right = window.view.x(item.end);
  if (right < 0 || left >= width || row.y + row.height <= window.top || row.y >= window.top + window.height)
    return std::nullopt;
  const int x = std::max(0, window.view.column(item.start)),
            end = std::min(width, std::max(x + 1, window.view.column(item.end)));
  return Box{x, row.y - window.top, end - x, row.height};
}

int TimelineScene::rowOf(RowKind kind, int device, int track, int lane) const {
  for (std::size_t i = 0; i < layout_.rows.size(); ++i) {
    const TimelineRow& row = layout_.rows[i];
    if (row.kind == kind && row.device == device && row.track == track && row.lane == lane)
      return static_cast<int>(i);
  }
  return -1;
}

// --- Items ---

TimelineItem TimelineScene::activityItem(int row, std::size_t index) const {
  const TimelineRow& place = at(layout_.rows, row);
  const analysis::Activity& activity = track(place).activities[index];
  using Activity = analysis::Activity;
  const auto kind = activity.kind == Activity::Kind::wait   ? TimelineItem::Kind::wait
                    : activity.kind == Activity::Kind::pass ? TimelineItem::Kind::pass
                    : activity.kind == Activity::Kind::far  ? TimelineItem::Kind::far
                                                            : TimelineItem::Kind::transfer;
  return {.kind = kind,
          .row = row,
          .device = place.device,
          .track = place.track,
          .index = activity.index,
          .start = activity.start,
          .end = activity.end};
}

TimelineItem TimelineScene::wallItem(int row, std::ptrdiff_t run) const {
  const auto& runs = model_->trace->runs;
  if (run < 0 || run >= static_cast<std::ptrdiff_t>(runs.size())) return {};
  const model::Run& of = at(runs, run);
  if (of.wallEndNs <= of.wallStartNs) return {};
  return {.kind = TimelineItem::Kind::wall,
          .row = row,
          .device = kHost,
          .index = static_cast<int>(run),
          .start = of.start,
          .end = of.end};
}

TimelineItem TimelineScene::counterItem(int row, std::ptrdiff_t point) const {
  const TimelineRow& place = at(layout_.rows, row);
  const auto& points = at(*model_->counters, place.lane).points;
  if (point < 0 || point >= static_cast<std::ptrdiff_t>(points.size())) return {};
  const bool last = point + 1 == static_cast<std::ptrdiff_t>(points.size());
  return {.kind = TimelineItem::Kind::counter,
          .row = row,
          .device = place.device,
          .index = static_cast<int>(point),
          .start = at(points, point).time,
          .end = last ? std::max(at(points, point).time, model_->trace->end) : at(points, point + 1).time};
}

TimelineItem TimelineScene::boxItem(int row, std::size_t placement, std::size_t box) const {
  const TimelineRow& place = at(layout_.rows, row);
  const analysis::TracePlacement& from = track(place).placements[placement];
  const analysis::FlameRow& boxes = *boxesOf(place, from).row;
  const BoxTimes times(*model_->trace, place.device, from, boxes);
  return {.kind = boxes.boxes[box].step < 0 ? TimelineItem::Kind::group : TimelineItem::Kind::step,
          .row = row,
          .device = place.device,
          .track = place.track,
          .placement = static_cast<int>(placement),
          .box = static_cast<int>(box),
          .start = times.start(box),
          .end = times.end(box)};
}

TimelineItem TimelineScene::passItem(const analysis::PlacementPlace& place) const {
  const analysis::TraceTrack& from = at(at(model_->trace->devices, place.device).tracks, place.track);
  const auto after = std::upper_bound(
      from.passes.begin(), from.passes.end(), place.index,
      [](std::int32_t index, const analysis::PassSpan& pass) { return index < pass.firstPlacement; });
  if (after == from.passes.begin()) return {};
  const auto pass = std::prev(after);
  return {.kind = TimelineItem::Kind::pass,
          .row = rowOf(RowKind::activity, place.device, place.track, 0),
          .device = place.device,
          .track = place.track,
          .index = static_cast<int>(pass - from.passes.begin()),
          .start = pass->start,
          .end = pass->end};
}

TimelineItem TimelineScene::waitItem(int device, int index) const {
  const auto& waits = at(model_->trace->devices, device).tracks.front().waits;
  const model::Wait& wait = at(waits, index);
  return {.kind = TimelineItem::Kind::wait,
          .row = rowOf(RowKind::activity, device, 0, 0),
          .device = device,
          .index = index,
          .start = wait.start,
          .end = wait.end};
}

TimelineItem TimelineScene::transferItem(int transfer) const {
  const analysis::Trace& trace = *model_->trace;
  const model::Transfer& row = at(trace.transfers, transfer);
  const int from = trace.deviceOfLane(row.fromLane);
  const int device = from >= 0 ? from : trace.deviceOfLane(row.toLane);
  return {.kind = TimelineItem::Kind::transfer,
          .row = transferRow(device, transfer),
          .device = device,
          .index = transfer,
          .start = row.start,
          .end = row.end};
}

int TimelineScene::transferRow(int device, int transfer) const {
  const auto& lanes = at(model_->trace->devices, device).transferLanes;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (!std::binary_search(lanes[lane].transfers.begin(), lanes[lane].transfers.end(), transfer)) continue;
    if (const int row = rowOf(RowKind::transfer, device, 0, static_cast<int>(lane)); row >= 0) return row;
  }
  return rowOf(RowKind::activity, device, 0, 0);
}

// --- Neighbours and contents ---

TimelineItem TimelineScene::neighbour(const TimelineItem& item, int direction) const {
  if (!item || item.row < 0) return {};
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
  const auto count = [&](int placement) {
    const PlacementBoxes boxes = boxesOf(row, at(placements, placement));
    return boxes ? static_cast<int>(boxes.row->boxes.size()) : 0;
  };
  int placement = item.placement, box = item.box + direction;
  for (int tried = 0; tried < kMostPlacements; ++tried) {
    if (box >= 0 && box < count(placement))
      return boxItem(item.row, static_cast<std::size_t>(placement), static_cast<std::size_t>(box));
    placement += direction;
    if (placement < 0 || placement >= static_cast<int>(placements.size())) break;
    box = direction > 0 ? 0 : count(placement) - 1;
  }
  return {};
}

const analysis::TraceTrack& TimelineScene::track(const TimelineRow& row) const {
  return at(at(model_->trace->devices, row.device).tracks, row.track);
}

PlacementBoxes TimelineScene::boxesOf(const TimelineRow& row,
                                      const analysis::TracePlacement& placement) const {
  const analysis::TraceSegment* segment = model_->trace->segmentOf(placement);
  if (segment == nullptr) return {};
  const SegmentIndex& indices = at(model_->segments, placement.segment);
  const auto lane = static_cast<std::size_t>(row.lane), level = static_cast<std::size_t>(row.level);
  if (row.kind == RowKind::tiles) return {&indices.tileRow, &indices.tileIndex};
  if (row.kind == RowKind::flat) {
    if (lane >= segment->flat.size()) return {};
    return {&segment->flat[lane], &indices.flat[lane]};
  }
  if (lane >= segment->flame.size() || level >= segment->flame[lane].size()) return {};
  return {&segment->flame[lane][level], &indices.flame[lane][level]};
}

const analysis::FlameBox* TimelineScene::flameBox(const TimelineItem& item) const {
  if (item.kind != TimelineItem::Kind::group && item.kind != TimelineItem::Kind::step) return nullptr;
  const TimelineRow& row = at(layout_.rows, item.row);
  return &at(boxesOf(row, at(track(row).placements, item.placement)).row->boxes, item.box);
}

std::vector<analysis::UnitTicks> TimelineScene::unitsOf(const TimelineItem& item) const {
  const analysis::FlameBox* box = flameBox(item);
  if (box == nullptr || box->step < 0 || !model_->tiles || !model_->tiles->recorded) return {};
  const auto& placement = at(track(at(layout_.rows, item.row)).placements, item.placement);
  const auto& steps = at(model_->tiles->steps, placement.segment);
  const auto step = static_cast<std::size_t>(box->step);
  return step < steps.size() ? steps[step] : std::vector<analysis::UnitTicks>();
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
  const analysis::FlameBox& box = *flameBox(item);
  const std::string& name = at(trace.names, box.name);
  return name.empty() ? "steps, mostly " + model::toString(box.kind) : name;
}

std::string TimelineScene::pathOf(const TimelineItem& item) const {
  const analysis::FlameBox* box = flameBox(item);
  if (box == nullptr) return {};
  const analysis::Trace& trace = *model_->trace;
  TimelineRow row = at(layout_.rows, item.row);
  const analysis::TracePlacement& placement = at(track(row).placements, item.placement);
  if (box->step >= 0) return at(trace.names, at(trace.segmentOf(placement)->stepNames, box->step));
  // The rows above a group show the groups that contain it.
  std::string path;
  const int last = row.level;
  for (row.level = 0; row.level <= last; ++row.level) {
    const auto& above = boxesOf(row, placement).row->boxes;
    const auto container = std::partition_point(
        above.begin(), above.end(), [&](const analysis::FlameBox& b) { return b.end <= box->offset; });
    path += (path.empty() ? "" : "/") + at(trace.names, container->name);
  }
  return path;
}

}  // namespace pipescope::geometry
