#pragma once
#include <QFontMetrics>
#include <QPainter>
#include <QString>

#include "profiler/geometry/timeline/timeline_layout.h"
#include "views/timeline/painters/timeline_look.h"

namespace pipescope::timeline {

/// Paints the names of devices and rows on the left of a timeline.
class GutterPainter {
 public:
  /// `litDevice`: the device that gets a coloured edge, or −1. `groupGap`: pixels between two groups.
  GutterPainter(const TimelineLook& look, const geometry::TimelineLayout& layout, int groupGap, int litDevice)
      : look_(look), layout_(layout), groupGap_(groupGap), litDevice_(litDevice) {}

  /// The name of a row, as far as it has room. A lane below the first one of a host thread repeats the
  /// thread's name; if that has no room, its level tells it apart.
  static QString shownName(const QString& name, const QFontMetrics& metrics);
  /// `top`: the first visible y of the layout.
  void paint(QPainter& painter, int top) const;

 private:
  void paintGroup(QPainter& painter, const geometry::TimelineGroup& group) const;
  void paintFoldMark(QPainter& painter, const QPoint& centre, bool folded) const;
  /// Writes the chip and stages of a device below its name, or beside it if there is no room below.
  void paintSubtitle(QPainter& painter, const geometry::TimelineGroup& group, int titleWidth) const;
  void paintRowNames(QPainter& painter, const geometry::TimelineGroup& group) const;
  void paintLaneNames(QPainter& painter, const geometry::TimelineGroup& group) const;
  void paintCounterNames(QPainter& painter, const geometry::TimelineGroup& group, int indent) const;
  void paintCounterName(QPainter& painter, const geometry::TimelineRow& row, int left) const;

  const TimelineLook& look_;
  const geometry::TimelineLayout& layout_;
  const int groupGap_, litDevice_;
};

}  // namespace pipescope::timeline
