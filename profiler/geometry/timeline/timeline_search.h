#pragma once
#include <string>

#include "profiler/geometry/timeline/timeline_scene.h"

namespace pipescope::geometry {

/// Searches the visible rows of a timeline that is not empty.
class TimelineSearch {
 public:
  explicit TimelineSearch(const TimelineScene& scene) : scene_(scene) {}

  /// The next (+1), previous (−1) or first (0: at or after `from`) step whose name path matches. In each row,
  /// at most 100,000 placements are searched.
  TimelineItem byName(const analysis::NameQuery& query, const TimelineItem& from, int direction) const;

  /// Finds the first step of a program on a device (−1: on any) that ends after `from`, or else the first of
  /// all. The item is none if no row shows one.
  TimelineItem stepOf(model::ProgramId program, int device, Ticks from) const;

  /// The next (+1) or previous (−1) item of the same row that is like this one: a pass of the same kind, a
  /// wait of the same cause, a step of the same name, a transfer of the same kind. None at the end.
  TimelineItem nextLike(const TimelineItem& item, int direction) const;

 private:
  const TimelineScene& scene_;
};

}  // namespace pipescope::geometry
