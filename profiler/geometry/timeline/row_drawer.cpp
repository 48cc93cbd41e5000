#include "profiler/geometry/timeline/row_drawer.h"

#include <algorithm>
#include <cmath>

#include "profiler/geometry/counter_text.h"
#include "profiler/geometry/element.h"
#include "profiler/geometry/timeline/box_times.h"
#include "profiler/geometry/timeline/time_axis.h"

namespace pipescope::geometry {
namespace {

/// Boxes at least this wide leave their last pixel free, so that neighbours can be told apart.
constexpr int kTimelineSetOff = 4;
/// Placements narrower than this show one colour in each row instead of their steps.
constexpr int kExpand = 3;
/// Boxes narrower than this have no label.
constexpr int kLabel = 12;
/// Pixels on both sides of a label.
constexpr int kPadding = 2;
/// Steps at least this wide show their tiles by row of pixels, narrower ones in kTileBands bands.
constexpr int kFineTiles = 12;

bool isBackward(model::Pass pass) {
  return pass == model::Pass::backward || pass == model::Pass::weightGradient;
}

ColourRole transferRole(const model::Transfer& transfer, bool byMicroBatch) {
  if (byMicroBatch && transfer.microBatch >= 0)
    return microBatchRole(transfer.microBatch, transfer.kind == model::TransferKind::gradient);
  return roleOf(transfer.kind);
}

int setOff(int width) {
  return width >= kTimelineSetOff ? width - 1 : width;
}

}  // namespace

ColourRole passRole(const analysis::TracePlacement& placement, bool byMicroBatch) {
  if (byMicroBatch && placement.microBatch >= 0 && model::isComputePass(placement.pass)) {
    return microBatchRole(placement.microBatch, isBackward(placement.pass));
  }
  return roleOf(placement.pass);
}

RowDrawer::RowDrawer(const TimelineScene& scene, const TimelineWindow& window, const TextMeasure& measure,
                     Shapes& shapes)
    : scene_(scene),
      trace_(*scene.model()->trace),
      window_(window),
      view_(window.view),
      measure_(measure),
      shapes_(shapes) {}

void RowDrawer::draw(const TimelineRow& row) {
  y_ = row.y - window_.top;
  height_ = row.height;
  switch (row.kind) {
    case RowKind::activity:
      return drawActivities(row);
    case RowKind::flame:
    case RowKind::flat:
      return drawSteps(row);
    case RowKind::transfer:
      return drawTransfers(row);
    case RowKind::counter:
      return drawCounter(at(*scene_.model()->counters, row.lane));
    case RowKind::tiles:
      return drawTiles(row);
    case RowKind::wall:
      return drawWall();
  }
}

Columns RowDrawer::all() const {
  return {0, view_.width()};
}

void RowDrawer::drawActivities(const TimelineRow& row) {
  const analysis::TraceTrack& track = scene_.track(row);
  const WidestIndex& index = at(at(scene_.model()->tracks, row.device), row.track).activities;
  foldVisible(
      index, view_, all(), [&](std::size_t i) { return track.activities[i].start; },
      [&](std::size_t i) { return track.activities[i].end; },
      [&](const Folded& folded) {
        const analysis::Activity& shown = track.activities[folded.shown];
        switch (shown.kind) {
          case analysis::Activity::Kind::pass:
            return drawPass(track, shown, folded);
          case analysis::Activity::Kind::wait:
            return drawWait(at(track.waits, shown.index), folded);
          case analysis::Activity::Kind::transfer:
            return box(dimmed(ColourRole::globalExchange), folded, "exchange");
          case analysis::Activity::Kind::far:
            return drawFar(at(track.far, shown.index), folded);
        }
      });
}

void RowDrawer::drawPass(const analysis::TraceTrack& track, const analysis::Activity& shown,
                         const Folded& folded) {
  const analysis::PassSpan& pass = at(track.passes, shown.index);
  const analysis::TracePlacement& placement = at(track.placements, pass.firstPlacement);
  const ColourRole role = dimmed(passRole(placement, scene_.options().byMicroBatch));
  box(role, folded, passLabel(placement.pass, placement.microBatch));
}

/// Fills the lower part of the row as high as placements fill the time, and the rest with the cause of the
/// waits.
void RowDrawer::drawFar(const analysis::FarSpan& span, const Folded& folded) {
  const int width = folded.right - folded.x;
  const int busy = std::clamp(static_cast<int>(std::lround(span.busy * height_)), 0, height_);
  shapes_.extend(dimmed(roleOf(span.pass)), {folded.x, y_ + height_ - busy, width, busy});
  if (busy == height_) return;
  const Box rest{folded.x, y_, width, height_ - busy};
  const ColourRole cause = dimmed(roleOf(span.cause));
  shapes_.extendHatch(cause, rest);
}

void RowDrawer::drawWait(const model::Wait& wait, const Folded& folded) {
  drawWait(wait.cause, folded);
}
void RowDrawer::drawWait(model::WaitCause cause, const Folded& folded) {
  const ColourRole role = dimmed(roleOf(cause));
  const Box box{folded.x, y_, folded.right - folded.x, height_};
  if (box.width < kTimelineSetOff) return shapes_.extendHatch(role, box);
  shapes_.hatch(role, {box.x, box.y, setOff(box.width), box.height});
  // The few causes are told apart by their colours: the beginning of a name would say nothing more.
  const std::string name = model::toString(cause);
  label(box, name, role, true);
  if (!shapes_.labels.empty() && shapes_.labels.back().box == box && shapes_.labels.back().text != name)
    shapes_.labels.pop_back();
}

void RowDrawer::drawSteps(const TimelineRow& row) {
  const analysis::TraceTrack& track = scene_.track(row);
  const WidestIndex& index = at(at(scene_.model()->tracks, row.device), row.track).placements;
  foldVisible(
      index, view_, all(), [&](std::size_t i) { return track.placements[i].start; },
      [&](std::size_t i) { return track.placements[i].end; },
      [&](const Folded& folded) {
        std::size_t shown = folded.shown;
        // Found steps must be seen even if another placement is longer.
        for (std::size_t i = folded.first; scene_.found() != nullptr && i < folded.end; ++i) {
          if (!scene_.found()->any(track.placements[i].segment)) continue;
          shown = i;
          break;
        }
        drawPlacementSteps(row, track.placements[shown], folded);
      });
}

ColourRole RowDrawer::dimmed(ColourRole role) const {
  return scene_.found() == nullptr ? role : ColourRole::dimmed;
}

ColourRole RowDrawer::stepRole(const TimelineRow& row, const analysis::TracePlacement& placement,
                               const analysis::FlameRow& boxes, const Folded& folded) const {
  const analysis::FlameBox& shown = boxes.boxes[folded.shown];
  const ColourRole role = roleOf(shown.kind, shown.step < 0);
  if (scene_.found() == nullptr) return role;
  if (folded.alone() && shown.step >= 0)
    return scene_.found()->step(placement.segment, shown.step) ? role : ColourRole::dimmed;
  const analysis::TraceTrack& track = scene_.track(row);
  const model::LaneId lane =
      row.kind == RowKind::flat ? at(track.flatLanes, row.lane) : at(track.flameLanes, row.lane).lane;
  return scene_.found()->any(placement.segment, lane, boxes.boxes[folded.first].offset,
                             boxes.boxes[folded.end - 1].end)
             ? role
             : ColourRole::dimmed;
}

void RowDrawer::drawPlacementSteps(const TimelineRow& row, const analysis::TracePlacement& placement,
                                   const Folded& folded) {
  const PlacementBoxes found = scene_.boxesOf(row, placement);
  if (!found || found.row->widest < 0) return;
  const analysis::FlameRow* boxes = found.row;
  if (folded.right - folded.x < kExpand) {
    const Folded all{0, boxes->boxes.size(), static_cast<std::size_t>(boxes->widest), folded.x, folded.right};
    return shapes_.extend(stepRole(row, placement, *boxes, all),
                          {folded.x, y_, folded.right - folded.x, height_});
  }
  const BoxTimes times(trace_, row.device, placement, *boxes);
  foldVisible(
      *found.index, view_, {folded.x, folded.right}, [&](std::size_t i) { return times.start(i); },
      [&](std::size_t i) { return times.end(i); },
      [&](const Folded& step) {
        const analysis::FlameBox& shown = boxes->boxes[step.shown];
        box(stepRole(row, placement, *boxes, step), step, at(trace_.names, shown.name),
            row.kind == RowKind::flat);
      });
}

/// Draws how long each tile works in each step. The ground stands for waiting.
void RowDrawer::drawTiles(const TimelineRow& row) {
  const Box whole{0, y_, view_.width(), height_};
  shapes_.ground(ColourRole::idle, whole);
  if (!scene_.model()->tiles || !scene_.model()->tiles->recorded)
    return label(whole, "Tiles were not recorded: run again with --record tiles", ColourRole::idle, false);
  const analysis::TraceTrack& track = scene_.track(row);
  const WidestIndex& index = at(at(scene_.model()->tracks, row.device), row.track).placements;
  foldVisible(
      index, view_, all(), [&](std::size_t i) { return track.placements[i].start; },
      [&](std::size_t i) { return track.placements[i].end; },
      [&](const Folded& folded) { drawPlacementTiles(row, track.placements[folded.shown], folded); });
}

void RowDrawer::drawPlacementTiles(const TimelineRow& row, const analysis::TracePlacement& placement,
                                   const Folded& folded) {
  const PlacementBoxes found = scene_.boxesOf(row, placement);
  if (!found || found.row->widest < 0) return;
  const analysis::FlameRow* boxes = found.row;
  const auto draw = [&](std::size_t shown, const Folded& step) {
    drawTileStep(row, placement, shown, boxes->boxes[shown], step);
  };
  if (folded.right - folded.x < kExpand) return draw(static_cast<std::size_t>(boxes->widest), folded);
  const BoxTimes times(trace_, row.device, placement, *boxes);
  foldVisible(
      *found.index, view_, {folded.x, folded.right}, [&](std::size_t i) { return times.start(i); },
      [&](std::size_t i) { return times.end(i); }, [&](const Folded& step) { draw(step.shown, step); });
}

void RowDrawer::drawTileStep(const TimelineRow& row, const analysis::TracePlacement& placement,
                             std::size_t place, const analysis::FlameBox& box, const Folded& folded) {
  const auto segment = static_cast<std::size_t>(placement.segment), step = static_cast<std::size_t>(box.step);
  const auto& spans = scene_.model()->tiles->steps[segment];
  const bool found = scene_.found() != nullptr && scene_.found()->step(placement.segment, box.step);
  const ColourRole role = found ? roleOf(box.kind) : dimmed(roleOf(box.kind));
  const int width = folded.right - folded.x;
  if (step >= spans.size() ||
      spans[step].empty())  // no tile was recorded in this step, so all are drawn as working
    return shapes_.extend(role, {folded.x, y_, width, height_});
  const bool fine = folded.alone() && width >= kFineTiles && height_ > kTileBands;
  const int bands = fine ? height_ : std::min(height_, kTileBands);
  std::vector<double> shares;
  if (fine)
    shares = tileShares(spans[step], at(trace_.devices, row.device).units,
                        trace_.segments[segment].steps[step].ticks, bands);
  const std::uint8_t* kept = scene_.model()->segments[segment].tileBands.data() + place * kTileBands;
  const auto reach = [&](int band) {
    const double share =
        fine ? shares[static_cast<std::size_t>(band)] : kept[band * kTileBands / bands] / 255.0;
    return static_cast<int>(std::lround(share * width));
  };
  // Neighbouring bands with equal ends become one box.
  for (int band = 0; band < bands;) {
    const int reached = reach(band);
    int next = band + 1;
    while (next < bands && reach(next) == reached) ++next;
    const int top = y_ + band * height_ / bands, bottom = y_ + next * height_ / bands;
    shapes_.fill(role, {folded.x, top, reached, bottom - top});
    band = next;
  }
}

/// Draws the calls at their emulated times and labels them with the time that the host took.
void RowDrawer::drawWall() {
  for (std::size_t i = 0; i < trace_.runs.size(); ++i) {
    const model::Run& run = trace_.runs[i];
    if (run.wallEndNs <= run.wallStartNs) continue;
    const int left = std::max(0, view_.column(run.start)),
              right = std::min(view_.width(), std::max(left + 1, view_.column(run.end)));
    if (right <= left || left >= view_.width()) continue;
    const Folded folded{i, i + 1, i, left, right};
    box(ColourRole::idle, folded,
        run.name + ": " +
            formatDuration(Ticks(run.wallEndNs - run.wallStartNs), {TimeUnit::time, 1'000'000'000}) +
            " on the host");
  }
}

void RowDrawer::drawTransfers(const TimelineRow& row) {
  const analysis::TransferLane& lane = at(at(trace_.devices, row.device).transferLanes, row.lane);
  const auto transfer = [&](std::size_t i) -> const model::Transfer& {
    return at(trace_.transfers, lane.transfers[i]);
  };
  foldVisible(
      at(at(scene_.model()->transfers, row.device), row.lane), view_, all(),
      [&](std::size_t i) { return transfer(i).start; }, [&](std::size_t i) { return transfer(i).end; },
      [&](const Folded& folded) {
        const model::Transfer& shown = transfer(folded.shown);
        const std::string number =
            shown.microBatch >= 0 ? " " + std::to_string(shown.microBatch) : std::string();
        box(dimmed(transferRole(shown, scene_.options().byMicroBatch)), folded,
            model::toString(shown.kind) + number);
      });
}

/// Draws a filled curve. A column that holds several values reaches from the axis up to the largest.
void RowDrawer::drawCounter(const analysis::CounterSeries& series) {
  const auto [low, high] = counterAxis(series);
  const auto level = [&, low = low, high = high](double value) {
    const double part = (value - low) / (high - low);
    return y_ + height_ - 1 - static_cast<int>(std::lround(part * (height_ - 2)));
  };
  const auto& points = series.points;
  std::ptrdiff_t i = analysis::pointAt(series, view_.firstAt(0));
  int column = i < 0 ? -1 : 0;
  double last = i < 0 ? 0 : points[static_cast<std::size_t>(i)].last;
  const auto count = static_cast<std::ptrdiff_t>(points.size());
  for (++i; i <= count && column < view_.width(); ++i) {
    const int next = i == count
                         ? view_.width()
                         : std::min(view_.width(), view_.column(points[static_cast<std::size_t>(i)].time));
    if (column >= 0 && next > column)
      shapes_.extend(dimmed(ColourRole::counter),
                     {column, level(last), next - column, y_ + height_ - level(last)});
    if (i == count || next >= view_.width()) break;
    // Several values share this column, and the largest is drawn.
    const Ticks end = view_.firstAt(next + 1);
    double peak = points[static_cast<std::size_t>(i)].largest;
    while (i + 1 < count && points[static_cast<std::size_t>(i + 1)].time < end)
      peak = std::max(peak, points[static_cast<std::size_t>(++i)].largest);
    last = points[static_cast<std::size_t>(i)].last;
    if (next >= 0 && peak > last) {
      shapes_.extend(dimmed(ColourRole::counter), {next, level(peak), 1, y_ + height_ - level(peak)});
      column = next + 1;
    } else {
      column = std::max(0, next);
    }
  }
}

void RowDrawer::box(ColourRole role, const Folded& folded, const std::string& text, bool path) {
  const Box box{folded.x, y_, setOff(folded.right - folded.x), height_};
  if (folded.right - folded.x < kTimelineSetOff) return shapes_.extend(role, box);
  shapes_.fill(role, box);
  if (folded.alone()) label(box, text, role, false, path);
}

void RowDrawer::label(const Box& box, const std::string& text, ColourRole role, bool hatched, bool path) {
  if (box.width < kLabel || box.height < kLowestText) return;
  const double scale = box.height < kLowText ? kSmallText : 1;
  const int room = static_cast<int>((box.width - 2 * kPadding) / scale);
  std::string fitted = path ? fitPath(text, room, measure_) : fitText(text, room, measure_);
  if (!fitted.empty()) shapes_.labels.push_back({box, std::move(fitted), role, hatched});
}

}  // namespace pipescope::geometry
