#include "views/timeline/timeline_pointer.h"

#include <QApplication>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "views/timeline/page_wheel.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::timeline {

using geometry::TimelineItem;
using Look = TimelineLook;
using geometry::TimeView;

namespace {

bool isOnRows(const QPoint& position) {
  return position.x() >= Look::kGutter && position.y() >= Look::kTop;
}

}  // namespace

bool TimelinePointer::isOverRows() const {
  return isOnRows(position_);
}

std::optional<std::pair<int, int>> TimelinePointer::markedStretch() const {
  if (drag_ != Drag::stretch) return std::nullopt;
  const auto [left, right] =
      std::minmax({std::max(pressed_.x(), Look::kGutter), std::max(position_.x(), Look::kGutter)});
  return std::pair(left - Look::kGutter, right - Look::kGutter);
}

void TimelinePointer::leave() {
  position_ = {-1, -1};
  hovered_ = {};
  canvas_.viewport()->update();
}

void TimelinePointer::forgetMovedItem() {
  if (hovered_ && !(canvas_.itemAt(position_) == hovered_)) hovered_ = {};
}

void TimelinePointer::turnWheel(const QWheelEvent& event) {
  const QPoint turn = event.angleDelta();
  const bool control = event.modifiers() & Qt::ControlModifier, shift = event.modifiers() & Qt::ShiftModifier;
  position_ = event.position().toPoint();
  if (control && shift) {
    if (turn.y() != 0) canvas_.changeRowHeight(turn.y() > 0 ? 1 : -1);
  } else if (shift || turn.x() != 0) {
    canvas_.panBy(-(turn.x() != 0 ? turn.x() : turn.y()) / kNotch * kPanOfNotch);
  } else if (control != wheelZooms_) {
    canvas_.zoomBy(std::pow(kZoomOfNotch, turn.y() / kNotch));
  } else {
    canvas_.verticalScrollBar()->setValue(canvas_.verticalScrollBar()->value() - turn.y() / 2);
  }
  pointAt(position_);
}

void TimelinePointer::press(const QMouseEvent& event) {
  pressed_ = event.pos();
  pressedView_ = canvas_.window().view;
  pressedScroll_ = canvas_.verticalScrollBar()->value();
  if (event.modifiers() & Qt::ControlModifier) {
    drag_ = Drag::stretch;
  } else if ((event.modifiers() & Qt::ShiftModifier) && isOnRows(event.pos()) && !canvas_.scene().empty()) {
    drag_ = Drag::measure;
    canvas_.annotations().startMeasuring(canvas_.snap(event.pos()));
  } else {
    drag_ = Drag::pressed;
  }
}

void TimelinePointer::move(const QMouseEvent& event) {
  position_ = event.pos();
  const QPoint moved = event.pos() - pressed_;
  if (drag_ == Drag::pressed && moved.manhattanLength() >= QApplication::startDragDistance() &&
      pressed_.x() >= Look::kGutter) {
    drag_ = Drag::pan;
    canvas_.control().remember();
    canvas_.viewport()->setCursor(Qt::ClosedHandCursor);
  }
  if (drag_ == Drag::pan) {
    TimeView view = pressedView_;
    view.pan(-moved.x());
    canvas_.control().show(view);
    canvas_.verticalScrollBar()->setValue(pressedScroll_ - moved.y());
  }
  if (drag_ == Drag::measure)
    canvas_.annotations().measureTo(canvas_.snap({std::max(Look::kGutter, event.x()), event.y()}));
  pointAt(event.pos());
}

void TimelinePointer::release(const QMouseEvent& event) {
  const Drag was = std::exchange(drag_, Drag::none);
  canvas_.viewport()->unsetCursor();
  if (was == Drag::pressed && event.button() == Qt::LeftButton) click(event.pos());
  if (was == Drag::stretch) finishStretch(event.x());
  if (was == Drag::measure && !canvas_.finishMeasuring()) click(event.pos());
  canvas_.viewport()->update();
}

void TimelinePointer::finishStretch(int x) {
  if (std::abs(x - pressed_.x()) < QApplication::startDragDistance()) return;
  const TimeView view = canvas_.window().view;
  const auto [left, right] = std::minmax({pressed_.x() - Look::kGutter, x - Look::kGutter});
  canvas_.zoomTo(view.time(left), view.time(right), 0);
}

bool TimelinePointer::isOnUnit(const QPoint& position) const {
  return canvas_.isUnitClickable() && position.x() >= 0 && position.x() < Look::kGutter &&
         position.y() >= Look::kStepBand && position.y() < Look::kTop;
}

void TimelinePointer::click(const QPoint& position) {
  if (isOnUnit(position)) return Q_EMIT canvas_.timeUnitClicked();
  if (position.y() < Look::kTop) {
    const int step = position.y() < Look::kStepBand ? canvas_.stepAt(position.x() - Look::kGutter) : -1;
    if (step >= 0) Q_EMIT canvas_.stepChosen(step);
    return;
  }
  if (position.x() >= Look::kGutter) return canvas_.select(canvas_.itemAt(position));
  canvas_.changeGroup(GroupChange::fold, canvas_.deviceAt(position));
}

void TimelinePointer::doubleClick(const QPoint& position) {
  const TimelineItem item = canvas_.itemAt(position);
  if (!item) return;
  canvas_.select(item);
  canvas_.zoomToSelection();
}

void TimelinePointer::pointAt(const QPoint& position) {
  if (drag_ != Drag::pan)
    canvas_.viewport()->setCursor(isOnUnit(position) ? Qt::PointingHandCursor : Qt::ArrowCursor);
  hovered_ = drag_ == Drag::pan ? TimelineItem{} : canvas_.itemAt(position);
  canvas_.viewport()->update();
}

}  // namespace pipescope::timeline
