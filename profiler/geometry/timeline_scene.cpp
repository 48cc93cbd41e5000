#include "profiler/geometry/timeline_scene.h"

#include <algorithm>
#include <cmath>

#include "profiler/geometry/box_times.h"
#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {

/// Boxes at least this wide are set off from their right neighbour by a pixel.
constexpr int kSetOff = 4;
/// Waits at least this wide are hatched.
constexpr int kHatch = 3;
/// Placements narrower than this show one colour per row instead of their steps.
constexpr int kExpand = 3;
constexpr int kLabel = 12, kPadding = 2;

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
          }
        });
  }

  void drawPass(const analysis::TraceTrack& track, const analysis::Activity& shown, const Folded& folded) {
    const analysis::PassSpan& pass = at(track.passes, shown.index);
    const analysis::TracePlacement& placement = at(track.placements, pass.firstPlacement);
    const ColourRole role = passRole(placement, scene_.options_.byMicroBatch);
    box(role, folded, passLabel(placement.pass, placement.microBatch));
  }

  void drawWait(const model::Wait& wait, const Folded& folded) {
    const ColourRole role = roleOf(wait.cause);
    const Box box{folded.x, y_, folded.right - folded.x, height_};
    if (box.width < kHatch) return shapes_.extend(role, box);
    shapes_.hatch(role, {box.x, box.y, setOff(box.width), box.height});
    label(box, model::toString(wait.cause), role, true);
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

  static int setOff(int width) { return width >= kSetOff ? width - 1 : width; }

  void box(ColourRole role, const Folded& folded, const std::string& text, bool path = false) {
    const Box box{folded.x, y_, setOff(folded.right - folded.x), height_};
    if (folded.right - folded.x < kSetOff) return shapes_.extend(role, box);
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
  for (const TimelineRow& row : layout_.rows) {
    if (row.y + row.height > window.top && row.y < window.top + window.height) drawer.draw(row);
  }
  return shapes;
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
  const int devices = static_cast<int>(trace.devices.size());
  for (int d = 0; d < devices; ++d) {
    const int top = height * d / devices, bottom = height * (d + 1) / devices;
    const int gap = bottom - top >= 4 ? 1 : 0;
    const analysis::TraceTrack& track = at(trace.devices, d).tracks.front();
    foldVisible(
        at(model.tracks, d).front().activities, view, {0, view.width()},
        [&](std::size_t i) { return track.activities[i].start; },
        [&](std::size_t i) { return track.activities[i].end; },
        [&](const Folded& folded) {
          const analysis::Activity& shown = track.activities[folded.shown];
          if (shown.kind != analysis::Activity::Kind::pass) return;
          const analysis::PassSpan& pass = at(track.passes, shown.index);
          const ColourRole role = passRole(at(track.placements, pass.firstPlacement), byMicroBatch);
          shapes.extend(role, {folded.x, top, folded.right - folded.x, std::max(1, bottom - top - gap)});
        });
  }
  return shapes;
}

}  // namespace pipescope::geometry
