#include "views/timeline/timeline_selection.h"

#include <algorithm>

#include "profiler/geometry/element.h"

namespace pipescope::timeline {

using geometry::at;
using geometry::TimelineItem;
using geometry::TimelineScene;

namespace {

const analysis::TraceTrack& trackOf(const TimelineScene& scene, const TimelineItem& item) {
  return at(at(scene.model()->trace->devices, item.device).tracks, item.track);
}

}  // namespace

void TimelineSelection::set(const TimelineItem& item, const TimelineScene& scene) {
  item_ = item;
  model_ = scene.model();
  placement_ = {};
  transfer_ = {};
  if (item.kind == TimelineItem::Kind::transfer) transfer_ = at(model_->trace->transfers, item.index).id;
  if (item.kind == TimelineItem::Kind::pass) {
    const analysis::TraceTrack& track = trackOf(scene, item);
    placement_ = at(track.placements, at(track.passes, item.index).firstPlacement).id;
  }
}

void TimelineSelection::findByIds(const TimelineScene& scene) {
  if (!item_ || scene.empty() || model_ == scene.model()) return;
  TimelineItem found;
  if (item_.kind == TimelineItem::Kind::transfer) {
    const auto& all = scene.model()->trace->transfers;
    const auto place =
        std::find_if(all.begin(), all.end(), [&](const auto& row) { return row.id == transfer_; });
    if (place != all.end()) found = scene.transferItem(static_cast<int>(place - all.begin()));
  } else if (item_.kind == TimelineItem::Kind::pass) {
    if (const auto place = scene.model()->trace->find(placement_)) found = scene.passItem(*place);
  }
  if (!found) return;
  item_ = found;
  model_ = scene.model();
}

void TimelineSelection::findRow(const TimelineScene& scene) {
  const TimelineItem before = std::exchange(item_, {});
  if (!isIn(scene)) return;
  if (before.kind == TimelineItem::Kind::transfer) item_ = scene.transferItem(before.index);
  if (before.kind == TimelineItem::Kind::wait) item_ = scene.waitItem(before.device, before.index);
  if (before.kind == TimelineItem::Kind::pass)
    item_ = scene.passItem(
        {before.device, before.track, at(trackOf(scene, before).passes, before.index).firstPlacement});
}

}  // namespace pipescope::timeline
