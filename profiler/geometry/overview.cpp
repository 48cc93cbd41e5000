#include "profiler/geometry/overview.h"

#include <algorithm>

#include "profiler/geometry/element.h"
#include "profiler/geometry/row_drawer.h"

namespace pipescope::geometry {

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
