#include "profiler/geometry/timeline_scene.h"

#include <algorithm>
#include <cmath>

#include "profiler/geometry/box_times.h"
#include "profiler/geometry/element.h"
#include "profiler/geometry/time_axis.h"

namespace pipescope::geometry {
namespace {

/// Boxes at least this wide are set off from their right neighbour by a pixel.
constexpr int kTimelineSceneSetOff = 4;
/// Waits at least this wide are hatched.
constexpr int kHatch = 3;
/// Placements narrower than this show one colour per row instead of their steps.
constexpr int kExpand = 3;
constexpr int kLabel = 12, kPadding = 2;
/// Steps at least this wide show every row of pixels of their tiles.
constexpr int kFineTiles = 12;

bool isBackward(model::Pass pass) {
  return pass == model::Pass::backward || pass == model::Pass::weightGradient;
}

ColourRole passRole(const analysis::TracePlacement& placement, bool byMicroBatch) {
  if (byMicroBatch && placement.microBatch >= 0 && model::isComputePass(placement.pass)) {
    return microBatchRole(placement.microBatch, isBackward(placement.pass));
  }
  return roleOf(placement.pass);
}

ColourRole transferRole(const model::Transfer& transfer, bool byMicroBatch) {
  if (byMicroBatch && transfer.microBatch >= 0)
    return microBatchRole(transfer.microBatch, transfer.kind == model::TransferKind::gradient);
  return roleOf(transfer.kind);
}

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

/// Draws one row of a window.
class RowDrawer {
 public:
  RowDrawer(const TimelineScene& scene, const TimelineWindow& window, const TextMeasure& measure,
            Shapes& shapes)
      : scene_(scene),
        trace_(*scene.model_->trace),
        window_(window),
        view_(window.view),
        measure_(measure),
        shapes_(shapes) {}

  void draw(const TimelineRow& row) {
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
        return drawCounter(at(*scene_.model_->counters, row.lane));
      case RowKind::tiles:
        return drawTiles(row);
      case RowKind::wall:
        return drawWall();
    }
  }

 private:
  Columns all() const { return {0, view_.width()}; }

  void drawActivities(const TimelineRow& row) {
    const analysis::TraceTrack& track = scene_.track(row);
    const WidestIndex& index = at(at(scene_.model_->tracks, row.device), row.track).activities;
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
              return box(ColourRole::globalExchange, folded, "exchange");
            case analysis::Activity::Kind::far:
              return drawFar(at(track.far, shown.index), folded);
          }
        });
  }

  void drawPass(const analysis::TraceTrack& track, const analysis::Activity& shown, const Folded& folded) {
    const analysis::PassSpan& pass = at(track.passes, shown.index);
    const analysis::TracePlacement& placement = at(track.placements, pass.firstPlacement);
    const ColourRole role = passRole(placement, scene_.options_.byMicroBatch);
    box(role, folded, passLabel(placement.pass, placement.microBatch));
  }

  /// Filled as high as the placements fill the stretch; above it waits show.
  void drawFar(const analysis::FarSpan& span, const Folded& folded) {
    const int width = folded.right - folded.x;
    const int busy = std::clamp(static_cast<int>(std::lround(span.busy * height_)), 0, height_);
    shapes_.extend(roleOf(span.pass), {folded.x, y_ + height_ - busy, width, busy});
    if (busy == height_) return;
    const Box rest{folded.x, y_, width, height_ - busy};
    width < kHatch ? shapes_.extend(roleOf(span.cause), rest) : shapes_.hatch(roleOf(span.cause), rest);
  }

  void drawWait(const model::Wait& wait, const Folded& folded) { drawWait(wait.cause, folded); }
  void drawWait(model::WaitCause cause, const Folded& folded) {
    const ColourRole role = roleOf(cause);
    const Box box{folded.x, y_, folded.right - folded.x, height_};
    if (box.width < kHatch) return shapes_.extend(role, box);
    shapes_.hatch(role, {box.x, box.y, setOff(box.width), box.height});
    label(box, model::toString(cause), role, true);
  }

  void drawSteps(const TimelineRow& row) {
    const analysis::TraceTrack& track = scene_.track(row);
    const WidestIndex& index = at(at(scene_.model_->tracks, row.device), row.track).placements;
    foldVisible(
        index, view_, all(), [&](std::size_t i) { return track.placements[i].start; },
        [&](std::size_t i) { return track.placements[i].end; },
        [&](const Folded& folded) { drawPlacementSteps(row, track.placements[folded.shown], folded); });
  }

  void drawPlacementSteps(const TimelineRow& row, const analysis::TracePlacement& placement,
                          const Folded& folded) {
    const WidestIndex* index = nullptr;
    const analysis::FlameRow* boxes = scene_.flameRow(row, placement, &index);
    if (boxes == nullptr || boxes->widest < 0) return;
    if (folded.right - folded.x < kExpand) {
      const analysis::FlameBox& widest = at(boxes->boxes, boxes->widest);
      shapes_.extend(roleOf(widest.kind, widest.step < 0), {folded.x, y_, folded.right - folded.x, height_});
      return;
    }
    const BoxTimes times(trace_, row.device, placement, *boxes);
    foldVisible(
        *index, view_, {folded.x, folded.right}, [&](std::size_t i) { return times.start(i); },
        [&](std::size_t i) { return times.end(i); },
        [&](const Folded& step) {
          const analysis::FlameBox& shown = boxes->boxes[step.shown];
          box(roleOf(shown.kind, shown.step < 0), step, at(trace_.names, shown.name),
              row.kind == RowKind::flat);
        });
  }

  /// Every tile in each step: how long it works, the rest of the step it waits.
  void drawTiles(const TimelineRow& row) {
    const Box whole{0, y_, view_.width(), height_};
    shapes_.ground(ColourRole::idle, whole);
    if (!scene_.model_->tiles || !scene_.model_->tiles->recorded)
      return label(whole, "Tiles were not recorded: run again with --record tiles", ColourRole::idle, false);
    const analysis::TraceTrack& track = scene_.track(row);
    const WidestIndex& index = at(at(scene_.model_->tracks, row.device), row.track).placements;
    foldVisible(
        index, view_, all(), [&](std::size_t i) { return track.placements[i].start; },
        [&](std::size_t i) { return track.placements[i].end; },
        [&](const Folded& folded) { drawPlacementTiles(row, track.placements[folded.shown], folded); });
  }

  void drawPlacementTiles(const TimelineRow& row, const analysis::TracePlacement& placement,
                          const Folded& folded) {
    const WidestIndex* index = nullptr;
    const analysis::FlameRow* boxes = scene_.flameRow(row, placement, &index);
    if (boxes == nullptr || boxes->widest < 0) return;
    const auto draw = [&](std::size_t shown, const Folded& step) {
      drawTileStep(row, placement, shown, boxes->boxes[shown], step);
    };
    if (folded.right - folded.x < kExpand) return draw(static_cast<std::size_t>(boxes->widest), folded);
    const BoxTimes times(trace_, row.device, placement, *boxes);
    foldVisible(
        *index, view_, {folded.x, folded.right}, [&](std::size_t i) { return times.start(i); },
        [&](std::size_t i) { return times.end(i); }, [&](const Folded& step) { draw(step.shown, step); });
  }

  void drawTileStep(const TimelineRow& row, const analysis::TracePlacement& placement, std::size_t place,
                    const analysis::FlameBox& box, const Folded& folded) {
    const auto segment = static_cast<std::size_t>(placement.segment),
               step = static_cast<std::size_t>(box.step);
    const auto& spans = scene_.model_->tiles->steps[segment];
    const ColourRole role = roleOf(box.kind);
    const int width = folded.right - folded.x;
    if (step >= spans.size() || spans[step].empty())  // no tile was recorded in it: all take part
      return shapes_.extend(role, {folded.x, y_, width, height_});
    const bool fine = folded.alone() && width >= kFineTiles && height_ > kTileBands;
    const int bands = fine ? height_ : std::min(height_, kTileBands);
    std::vector<double> shares;
    if (fine)
      shares = tileShares(spans[step], at(trace_.devices, row.device).units,
                          trace_.segments[segment].steps[step].ticks, bands);
    const std::uint8_t* kept = scene_.model_->segments[segment].tileBands.data() + place * kTileBands;
    const auto reach = [&](int band) {
      const double share =
          fine ? shares[static_cast<std::size_t>(band)] : kept[band * kTileBands / bands] / 255.0;
      return static_cast<int>(std::lround(share * width));
    };
    // Bands that reach equally far are one box.
    for (int band = 0; band < bands;) {
      const int reached = reach(band);
      int next = band + 1;
      while (next < bands && reach(next) == reached) ++next;
      const int top = y_ + band * height_ / bands, bottom = y_ + next * height_ / bands;
      shapes_.fill(role, {folded.x, top, reached, bottom - top});
      band = next;
    }
  }

  /// Calls as long as they are on the emulated axis, with what the host's clock says.
  void drawWall() {
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

  void drawTransfers(const TimelineRow& row) {
    const analysis::TransferLane& lane = at(at(trace_.devices, row.device).transferLanes, row.lane);
    const auto transfer = [&](std::size_t i) -> const model::Transfer& {
      return at(trace_.transfers, lane.transfers[i]);
    };
    foldVisible(
        at(at(scene_.model_->transfers, row.device), row.lane), view_, all(),
        [&](std::size_t i) { return transfer(i).start; }, [&](std::size_t i) { return transfer(i).end; },
        [&](const Folded& folded) {
          const model::Transfer& shown = transfer(folded.shown);
          const std::string number =
              shown.microBatch >= 0 ? " " + std::to_string(shown.microBatch) : std::string();
          box(transferRole(shown, scene_.options_.byMicroBatch), folded,
              model::toString(shown.kind) + number);
        });
  }

  /// A filled curve: in each column from the smallest to the largest value, below it the area.
  void drawCounter(const analysis::CounterSeries& series) {
    const double low = std::min(0.0, series.smallest), high = std::max(series.largest, low + 1e-12);
    const auto level = [&](double value) {
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
        shapes_.extend(ColourRole::counter, {column, level(last), next - column, y_ + height_ - level(last)});
      if (i == count || next >= view_.width()) break;
      // What shares the column: its peak decides how high it is drawn.
      const Ticks end = view_.firstAt(next + 1);
      double peak = points[static_cast<std::size_t>(i)].largest;
      while (i + 1 < count && points[static_cast<std::size_t>(i + 1)].time < end)
        peak = std::max(peak, points[static_cast<std::size_t>(++i)].largest);
      last = points[static_cast<std::size_t>(i)].last;
      if (next >= 0 && peak > last) {
        shapes_.extend(ColourRole::counter, {next, level(peak), 1, y_ + height_ - level(peak)});
        column = next + 1;
      } else {
        column = std::max(0, next);
      }
    }
  }

  static int setOff(int width) { return width >= kTimelineSceneSetOff ? width - 1 : width; }

  void box(ColourRole role, const Folded& folded, const std::string& text, bool path = false) {
    const Box box{folded.x, y_, setOff(folded.right - folded.x), height_};
    if (folded.right - folded.x < kTimelineSceneSetOff) return shapes_.extend(role, box);
    shapes_.fill(role, box);
    if (folded.alone()) label(box, text, role, false, path);
  }

  void label(const Box& box, const std::string& text, ColourRole role, bool hatched, bool path = false) {
    if (box.width < kLabel || box.height < kLowestText) return;
    const double scale = box.height < kLowText ? kSmallText : 1;
    const int room = static_cast<int>((box.width - 2 * kPadding) / scale);
    std::string fitted = path ? fitPath(text, room, measure_) : fitText(text, room, measure_);
    if (!fitted.empty()) shapes_.labels.push_back({box, std::move(fitted), role, hatched});
  }

  const TimelineScene& scene_;
  const analysis::Trace& trace_;
  const TimelineWindow& window_;
  const TimeView& view_;
  const TextMeasure& measure_;
  Shapes& shapes_;
  int y_ = 0, height_ = 0;
};

TimelineScene::TimelineScene(std::shared_ptr<const TimelineModel> model, TimelineLayout layout,
                             TimelineOptions options)
    : model_(std::move(model)), layout_(std::move(layout)), options_(std::move(options)) {}

Shapes TimelineScene::draw(const TimelineWindow& window, const TextMeasure& measure) const {
  Shapes shapes;
  if (!model_) return shapes;
  RowDrawer drawer(*this, window, measure, shapes);
  // Rows are sorted by y: those above the window are passed over at once.
  auto row = std::partition_point(layout_.rows.begin(), layout_.rows.end(), [&](const TimelineRow& above) {
    return above.y + above.height <= window.top;
  });
  for (; row != layout_.rows.end() && row->y < window.top + window.height; ++row) drawer.draw(*row);
  return shapes;
}

namespace {

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

TimelineItem TimelineScene::nextLike(const TimelineItem& item, int direction) const {
  constexpr int kMost = 200'000;
  const bool named = item.kind == TimelineItem::Kind::step || item.kind == TimelineItem::Kind::group;
  const std::string name = named ? labelOf(item) : std::string();
  TimelineItem next = neighbour(item, direction);
  for (int passed = 0; next && passed < kMost; ++passed, next = neighbour(next, direction)) {
    if (named ? labelOf(next) == name : sameKind(*model_->trace, item, next)) return next;
  }
  return {};
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

const analysis::TraceTrack& TimelineScene::track(const TimelineRow& row) const {
  return at(at(model_->trace->devices, row.device).tracks, row.track);
}

/// The boxes that a row shows of a placement; null where it has none.
const analysis::FlameRow* TimelineScene::flameRow(const TimelineRow& row,
                                                  const analysis::TracePlacement& placement,
                                                  const WidestIndex** index) const {
  const analysis::TraceSegment* segment = model_->trace->segmentOf(placement);
  if (segment == nullptr) return nullptr;
  const SegmentIndex& indices = at(model_->segments, placement.segment);
  const auto lane = static_cast<std::size_t>(row.lane), level = static_cast<std::size_t>(row.level);
  if (row.kind == RowKind::tiles) {
    *index = &indices.tileIndex;
    return &indices.tileRow;
  }
  if (row.kind == RowKind::flat) {
    if (lane >= segment->flat.size()) return nullptr;
    *index = &indices.flat[lane];
    return &segment->flat[lane];
  }
  if (lane >= segment->flame.size() || level >= segment->flame[lane].size()) return nullptr;
  *index = &indices.flame[lane][level];
  return &segment->flame[lane][level];
}

Shapes overview(const TimelineModel& model, const TimeView& view, int height, bool byMicroBatch) {
  Shapes shapes;
  const analysis::Trace& trace = *model.trace;
  std::vector<int> recorded;
  for (int d = 0; d < static_cast<int>(trace.devices.size()); ++d) {
    if (at(trace.devices, d).recorded) recorded.push_back(d);
  }
  const auto lanes = static_cast<int>(recorded.size());
  for (int lane = 0; lane < lanes; ++lane) {
    const int d = at(recorded, lane), top = height * lane / lanes, bottom = height * (lane + 1) / lanes;
    const int gap = bottom - top >= 4 ? 1 : 0;
    const analysis::TraceTrack& track = at(trace.devices, d).tracks.front();
    foldVisible(
        at(model.tracks, d).front().activities, view, {0, view.width()},
        [&](std::size_t i) { return track.activities[i].start; },
        [&](std::size_t i) { return track.activities[i].end; },
        [&](const Folded& folded) {
          const analysis::Activity& shown = track.activities[folded.shown];
          if (shown.kind == analysis::Activity::Kind::far) {
            const analysis::FarSpan& span = at(track.far, shown.index);
            if (span.waits) return;
            return shapes.extend(roleOf(span.pass),
                                 {folded.x, top, folded.right - folded.x, std::max(1, bottom - top - gap)});
          }
          if (shown.kind != analysis::Activity::Kind::pass) return;
          const analysis::PassSpan& pass = at(track.passes, shown.index);
          const ColourRole role = passRole(at(track.placements, pass.firstPlacement), byMicroBatch);
          shapes.extend(role, {folded.x, top, folded.right - folded.x, std::max(1, bottom - top - gap)});
        });
  }
  return shapes;
}

}  // namespace pipescope::geometry
