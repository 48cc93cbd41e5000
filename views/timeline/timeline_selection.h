#pragma once
#include "profiler/geometry/timeline/timeline_scene.h"

namespace pipescope::timeline {

/// The selected item of a timeline. It is remembered by its ids too, because the same pass or transfer has
/// another index when another part of the trace is read.
class TimelineSelection {
 public:
  const geometry::TimelineItem& item() const { return item_; }
  /// True if the item's indices belong to the scene's trace.
  bool isIn(const geometry::TimelineScene& scene) const { return !scene.empty() && model_ == scene.model(); }

  void set(const geometry::TimelineItem& item, const geometry::TimelineScene& scene);
  void clear() { item_ = {}; }
  /// The scene shows another part of the trace: looks the item up by its ids. If the part does not hold it,
  /// the item stays as it was, so that its outline stays in place.
  void findByIds(const geometry::TimelineScene& scene);
  /// The rows have moved: looks up the row of a pass, wait or transfer. Other items are no longer selected.
  void findRow(const geometry::TimelineScene& scene);

 private:
  geometry::TimelineItem item_;
  const geometry::TimelineModel* model_ = nullptr;
  model::PlacementId placement_;
  model::TransferId transfer_;
};

}  // namespace pipescope::timeline
