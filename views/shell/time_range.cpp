#include "views/shell/time_range.h"

namespace pipescope::shell {

void TimeRange::show(const geometry::TimeView& view) {
  if (view == view_) return;
  view_ = view;
  Q_EMIT changed();
}

void TimeRange::remember() {
  Q_EMIT remembered();
  if (!past_.empty() && past_.back() == view_) return;
  past_.push_back(view_);
  if (past_.size() > kRemembered) past_.erase(past_.begin());
}

void TimeRange::undo() {
  while (!past_.empty()) {
    geometry::TimeView before = past_.back();
    past_.pop_back();
    before.setWidth(view_.width());
    if (before == view_) continue;
    view_ = before;
    Q_EMIT changed();
    return;
  }
}

void TimeRange::reset(const geometry::TimeView& view) {
  past_.clear();
  view_ = view;
  set_ = true;
  origin_ = view.start();
  Q_EMIT changed();
}

}  // namespace pipescope::shell
