#include "profiler/geometry/timeline/overview.h"

#include <algorithm>

#include "profiler/geometry/element.h"
#include "profiler/geometry/timeline/box_times.h"
#include "profiler/geometry/timeline/row_drawer.h"

namespace pipescope::geometry {
namespace {

/// Draws the tracks of one device as one lane. The first drawing stays: later tracks fill only the columns
/// that are still free.
class OverviewLane {
 public:
  OverviewLane(const TimelineModel& model, const TimeView& view, int device, int top, int height,
               bool byMicroBatch, Shapes& shapes)
      : model_(model),
        trace_(*model.trace),
        view_(view),
        device_(device),
        top_(top),
        height_(height),
        byMicroBatch_(byMicroBatch),
        shapes_(shapes),
        taken_(static_cast<std::size_t>(view.width()), 0) {}

  void draw() {
    const std::vector<analysis::TraceTrack>& tracks = at(trace_.devices, device_).tracks;
    for (std::size_t t = 0; t < tracks.size(); ++t) drawPasses(tracks[t], indexOf(t).activities, true);
    if (drawnModel_) return;
    // Without a forward or backward pass, the strip shows steps: first what the device does, and what the
    // host does only if there is nothing else. A distant view has no steps.
    if (trace_.far) {
      for (std::size_t t = 0; t < tracks.size(); ++t) drawPasses(tracks[t], indexOf(t).activities, false);
      return;
    }
    for (std::size_t t = 0; t < tracks.size(); ++t) drawSteps(tracks[t], indexOf(t).placements, false);
    if (drawn_) return;
    for (std::size_t t = 0; t < tracks.size(); ++t) drawSteps(tracks[t], indexOf(t).placements, true);
  }

 private:
  const TrackIndex& indexOf(std::size_t track) const { return at(model_.tracks, device_)[track]; }

  /// Draws the passes of which it is known what they are, or the others.
  void drawPasses(const analysis::TraceTrack& track, const WidestIndex& index, bool known) {
    const auto wanted = [known](model::Pass pass) { return (pass != model::Pass::other) == known; };
    foldVisible(
        index, view_, {0, view_.width()}, [&](std::size_t i) { return track.activities[i].start; },
        [&](std::size_t i) { return track.activities[i].end; },
        [&](const Folded& folded) {
          const analysis::Activity& shown = track.activities[folded.shown];
          if (shown.kind == analysis::Activity::Kind::far) {
            const analysis::FarSpan& span = at(track.far, shown.index);
            if (!span.waits && wanted(span.pass)) fillPass(span.pass, roleOf(span.pass), folded);
          } else if (shown.kind == analysis::Activity::Kind::pass) {
            const analysis::PassSpan& span = at(track.passes, shown.index);
            const analysis::TracePlacement& placement = at(track.placements, span.firstPlacement);
            if (wanted(placement.pass)) fillPass(placement.pass, passRole(placement, byMicroBatch_), folded);
          }
        });
  }

  void drawSteps(const analysis::TraceTrack& track, const WidestIndex& index, bool control) {
    foldVisible(
        index, view_, {0, view_.width()}, [&](std::size_t i) { return track.placements[i].start; },
        [&](std::size_t i) { return track.placements[i].end; },
        [&](const Folded& folded) { drawSteps(track.placements[folded.shown], folded, control); });
  }

  /// Draws the outermost boxes of each lane of a placement: those of the control kind, which threads of the
  /// host have, or the others.
  void drawSteps(const analysis::TracePlacement& placement, const Folded& folded, bool control) {
    const analysis::TraceSegment* segment = trace_.segmentOf(placement);
    if (segment == nullptr) return control ? void() : fill(roleOf(placement.pass), folded);
    for (std::size_t lane = 0; lane < segment->flame.size(); ++lane) {
      if (segment->flame[lane].empty()) continue;
      const analysis::FlameRow& row = segment->flame[lane].front();
      const BoxTimes times(trace_, device_, placement, row);
      foldVisible(
          at(model_.segments, placement.segment).flame[lane].front(), view_, {folded.x, folded.right},
          [&](std::size_t i) { return times.start(i); }, [&](std::size_t i) { return times.end(i); },
          [&](const Folded& step) {
            const model::StepKind kind = row.boxes[step.shown].kind;
            if ((kind == model::StepKind::control) == control) fill(roleOf(kind), step);
          });
    }
  }

  void fillPass(model::Pass pass, ColourRole role, const Folded& folded) {
    drawnModel_ |= model::isComputePass(pass);
    fill(role, folded);
  }

  void fill(ColourRole role, const Folded& folded) {
    drawn_ = true;
    for (int x = folded.x; x < folded.right;) {
      int end = x;
      while (end < folded.right && taken_[static_cast<std::size_t>(end)] == 0)
        taken_[static_cast<std::size_t>(end++)] = 1;
      if (end > x) shapes_.extend(role, {x, top_, end - x, height_});
      x = end + 1;
    }
  }

  const TimelineModel& model_;
  const analysis::Trace& trace_;
  const TimeView& view_;
  int device_, top_, height_;
  bool byMicroBatch_;
  Shapes& shapes_;
  std::vector<char> taken_;                  ///< true for columns with a colour
  bool drawn_ = false, drawnModel_ = false;  ///< anything; a pass of the model
};

}  // namespace

Shapes overview(const TimelineModel& model, const TimeView& view, int height, bool byMicroBatch) {
  Shapes shapes;
  const analysis::Trace& trace = *model.trace;
  constexpr int kLeastLane = 3;  // pixels
  std::vector<int> recorded, working;
  for (int d = 0; d < static_cast<int>(trace.devices.size()); ++d) {
    const analysis::DeviceTrace& device = at(trace.devices, d);
    if (!device.recorded) continue;
    recorded.push_back(d);
    const bool works = std::ranges::any_of(device.tracks, [](const analysis::TraceTrack& track) {
      return !track.activities.empty() || !track.placements.empty();
    });
    if (works) working.push_back(d);
  }
  // A large system may have thousands of idle devices beside a few that work. These need the room.
  if (static_cast<int>(recorded.size()) * kLeastLane > height && !working.empty()) recorded = working;
  const auto lanes = static_cast<int>(recorded.size());
  for (int lane = 0; lane < lanes; ++lane) {
    const int top = height * lane / lanes, bottom = height * (lane + 1) / lanes;
    const int gap = bottom - top >= 4 ? 1 : 0;
    OverviewLane(model, view, at(recorded, lane), top, std::max(1, bottom - top - gap), byMicroBatch, shapes)
        .draw();
  }
  return shapes;
}

}  // namespace pipescope::geometry
