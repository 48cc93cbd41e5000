#include "profiler/geometry/timeline/timeline_links.h"

#include <algorithm>

#include "profiler/geometry/element.h"

namespace pipescope::geometry {
namespace {

int centreOf(const TimelineScene& scene, const TimelineWindow& window, int row) {
  const TimelineRow& place = at(scene.layout().rows, row);
  return place.y + place.height / 2 - window.top;
}

/// A transfer from or to the host, or of a device that is hidden, has no arrow.
void addTransferArrow(const TimelineScene& scene, const TimelineWindow& window, int transfer,
                      std::vector<Arrow>& arrows) {
  const analysis::Trace& trace = *scene.model()->trace;
  const model::Transfer& row = at(trace.transfers, transfer);
  const int from = trace.deviceOfLane(row.fromLane), to = trace.deviceOfLane(row.toLane);
  if (from < 0 || to < 0) return;
  const int start = scene.transferRow(from, transfer), end = scene.transferRow(to, transfer);
  if (start < 0 || end < 0) return;
  arrows.push_back({.x1 = window.view.column(row.start),
                    .y1 = centreOf(scene, window, start),
                    .x2 = window.view.column(row.end),
                    .y2 = centreOf(scene, window, end),
                    .role = roleOf(row.kind)});
}

}  // namespace

TimelineItem waitedFor(const TimelineScene& scene, const TimelineItem& wait) {
  if (wait.kind != TimelineItem::Kind::wait) return {};
  const auto& waits = at(scene.model()->trace->devices, wait.device).tracks.front().waits;
  const auto place = scene.model()->trace->find(at(waits, wait.index).waitedFor);
  return place ? scene.passItem(*place) : TimelineItem{};
}

std::vector<int> transfersOf(const TimelineScene& scene, const TimelineItem& item) {
  if (item.kind != TimelineItem::Kind::pass) return {};
  const analysis::Trace& trace = *scene.model()->trace;
  const analysis::TraceTrack& from = at(at(trace.devices, item.device).tracks, item.track);
  const auto& pass = at(from.placements, at(from.passes, item.index).firstPlacement);
  const bool forward = pass.pass == model::Pass::forward;
  if (pass.microBatch < 0 || !model::isComputePass(pass.pass)) return {};
  const MicroBatchKey key{pass.run.value, pass.iteration, pass.microBatch};
  int before = -1, after = -1;  // the last one that arrived before the pass, the first one that left after it
  const auto& all = scene.model()->transfersOf;
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

std::vector<Arrow> arrowsOf(const TimelineScene& scene, const TimelineWindow& window,
                            const TimelineItem& item) {
  std::vector<Arrow> arrows;
  if (item.kind == TimelineItem::Kind::transfer) addTransferArrow(scene, window, item.index, arrows);
  if (item.kind == TimelineItem::Kind::pass) {
    for (const int transfer : transfersOf(scene, item)) addTransferArrow(scene, window, transfer, arrows);
  }
  if (item.kind == TimelineItem::Kind::wait) {
    const TimelineItem cause = waitedFor(scene, item);
    if (cause && cause.row >= 0 && item.row >= 0 && cause.row != item.row) {
      const auto& waits = at(scene.model()->trace->devices, item.device).tracks.front().waits;
      arrows.push_back({.x1 = window.view.column(cause.end),
                        .y1 = centreOf(scene, window, cause.row),
                        .x2 = window.view.column(item.end),
                        .y2 = centreOf(scene, window, item.row),
                        .role = roleOf(at(waits, item.index).cause)});
    }
  }
  return arrows;
}

}  // namespace pipescope::geometry
