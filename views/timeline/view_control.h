#pragma once
#include <QElapsedTimer>
#include <memory>

#include "profiler/analysis/timeline/trace.h"
#include "views/shell/time_range.h"

namespace pipescope::timeline {

/// Zooms and pans the window's time range within the limits of a trace. One undo takes back a whole burst of
/// wheel or key events.
class ViewControl {
 public:
  explicit ViewControl(shell::TimeRange& range) : range_(range) {}

  /// Sets the trace. Nothing moves without a trace.
  void setTrace(std::shared_ptr<const analysis::Trace> trace) { trace_ = std::move(trace); }
  void setWidth(int pixels) { width_ = pixels; }
  /// Tells the window's range of this control's width.
  void showOnWidth() { range_.show(view()); }
  /// The window's range on this control's width.
  geometry::TimeView view() const;

  /// Shows a view as far as it lies within the trace.
  void show(geometry::TimeView view);
  /// Shows [start, end) and `room` of its length on both sides.
  void zoomTo(base::Ticks start, base::Ticks end, double room);
  void zoomToAll();
  /// Keeps what lies at `x`; a factor above 1 shows less time.
  void zoomAbout(double x, double factor);
  /// Pans by a fraction of the width; a fraction above 0 shows later times.
  void pan(double fraction);
  /// Pans until [start, end), or at least its start, is visible.
  void reveal(base::Ticks start, base::Ticks end);
  void undo() { range_.undo(); }
  /// The next undo comes back to the present view.
  void remember() { range_.remember(); }

 private:
  void rememberGesture();

  shell::TimeRange& range_;
  std::shared_ptr<const analysis::Trace> trace_;
  int width_ = 1;
  QElapsedTimer gesture_;
};

}  // namespace pipescope::timeline
