#pragma once
#include <QMouseEvent>
#include <QWheelEvent>
#include <optional>

#include "profiler/geometry/timeline/time_view.h"
#include "profiler/geometry/timeline/timeline_scene.h"

namespace pipescope::timeline {

class TimelineCanvas;

/// Handles the mouse on a timeline: it points at items, clicks, pans by dragging, zooms to a stretch with
/// Ctrl and measures with Shift.
class TimelinePointer {
 public:
  explicit TimelinePointer(TimelineCanvas& canvas) : canvas_(canvas) {}

  /// Position in pixels of the viewport; (−1, −1) while the pointer is elsewhere.
  const QPoint& position() const { return position_; }
  /// True where the pointer is over the rows, not over names or header.
  bool isOverRows() const;
  const geometry::TimelineItem& hovered() const { return hovered_; }
  /// Forgets the item under the pointer, because another trace or other rows are shown.
  void forgetItem() { hovered_ = {}; }
  /// Forgets the item if it has moved away from the pointer, as after a zoom by key.
  void forgetMovedItem();
  bool isDragging() const { return drag_ != Drag::none; }
  /// The stretch that a drag with Ctrl marks: two positions on the rows, left one first.
  std::optional<std::pair<int, int>> markedStretch() const;

  /// A plain wheel zooms and one with Ctrl scrolls, as users of PopVision know it; otherwise the reverse.
  void setWheelZooms(bool zooms) { wheelZooms_ = zooms; }

  void leave();
  void turnWheel(const QWheelEvent& event);
  void press(const QMouseEvent& event);
  void move(const QMouseEvent& event);
  void release(const QMouseEvent& event);
  void doubleClick(const QPoint& position);
  /// Finds the item under the pointer again, after the rows have moved.
  void findItem() { pointAt(position_); }

 private:
  enum class Drag { none, pressed, pan, stretch, measure };

  void pointAt(const QPoint& position);
  void click(const QPoint& position);
  bool isOnUnit(const QPoint& position) const;
  void finishStretch(int x);

  TimelineCanvas& canvas_;
  Drag drag_ = Drag::none;
  bool wheelZooms_ = false;
  QPoint position_{-1, -1}, pressed_;
  geometry::TimelineItem hovered_;
  geometry::TimeView pressedView_;
  int pressedScroll_ = 0;
};

}  // namespace pipescope::timeline
