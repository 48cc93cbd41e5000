#pragma once
#include <QPainter>

#include "profiler/analysis/timeline/trace.h"
#include "views/timeline/painters/timeline_look.h"

namespace pipescope::timeline {

/// Paints what lies above the rows of a timeline: the device iterations and the time axis.
class HeaderPainter {
 public:
  explicit HeaderPainter(const TimelineLook& look) : look_(look) {}

  /// `unitIsLink`: a click on the unit's name changes the unit, so it looks like a link.
  void paintAxis(QPainter& painter, bool unitIsLink) const;
  void paintSteps(QPainter& painter, const analysis::Trace& trace) const;

 private:
  const TimelineLook& look_;
};

}  // namespace pipescope::timeline
