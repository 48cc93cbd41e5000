#include "views/timeline/view_control.h"

#include <algorithm>
#include <cmath>

namespace pipescope::timeline {

using base::Ticks;
using geometry::TimeView;

namespace {

/// Two events further apart than this are undone one by one.
constexpr int kGestureMs = 600;

}  // namespace

TimeView ViewControl::view() const {
  TimeView view = range_.view();
  view.setWidth(width_);
  return view;
}

void ViewControl::show(TimeView view) {
  if (!trace_) return;
  view.setWidth(width_);
  view.keepWithin(trace_->start, trace_->end);
  range_.show(view);
}

void ViewControl::rememberGesture() {
  if (!gesture_.isValid() || gesture_.elapsed() > kGestureMs) range_.remember();
  gesture_.start();
}

void ViewControl::zoomTo(Ticks start, Ticks end, double room) {
  if (!trace_) return;
  const double length = std::max(1.0, static_cast<double>((end - start).count));
  const Ticks margin(static_cast<std::int64_t>(std::ceil(length * room)));
  const Ticks from = start - margin, shortest = from + Ticks(static_cast<std::int64_t>(TimeView::kShortest));
  range_.remember();
  gesture_.invalidate();
  show(TimeView(from, std::max(end + margin, shortest), width_));
}

void ViewControl::zoomToAll() {
  if (trace_) zoomTo(trace_->start, trace_->end, 0);
}

void ViewControl::zoomAbout(double x, double factor) {
  if (!trace_) return;
  rememberGesture();
  TimeView changed = view();
  changed.zoomAbout(x, factor, static_cast<double>((trace_->end - trace_->start).count));
  show(changed);
}

void ViewControl::pan(double fraction) {
  rememberGesture();
  TimeView changed = view();
  changed.pan(fraction * changed.width());
  show(changed);
}

void ViewControl::reveal(Ticks start, Ticks end) {
  TimeView changed = view();
  const double left = changed.x(start), right = changed.x(end), width = changed.width();
  if (left >= 0 && right <= width) return;
  range_.remember();
  // An item longer than the view begins near the left edge; any other is centred.
  changed.pan(right - left > width ? left - width * 0.1 : (left + right) / 2 - width / 2);
  show(changed);
}

}  // namespace pipescope::timeline
