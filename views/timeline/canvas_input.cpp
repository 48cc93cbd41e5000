// Mouse and keyboard of a timeline.
#include <QApplication>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "profiler/geometry/element.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::timeline {

using geometry::at;
using geometry::TimelineItem;
using geometry::TimeView;

namespace {

constexpr double kWheelStep = 1.25, kKeyStep = 1.6, kPanStep = 0.2;

}  // namespace

bool TimelineCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    pointer_ = {-1, -1};
    hovered_ = {};
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  pointer_ = event->position().toPoint();
  constexpr auto kRows = Qt::ControlModifier | Qt::ShiftModifier;
  if ((event->modifiers() & kRows) == kRows) {
    if (turn.y() != 0) changeRowHeight(turn.y() > 0 ? 1 : -1);
    event->accept();
  } else if (((event->modifiers() & Qt::ControlModifier) != 0) != wheelZooms_ && turn.x() == 0 &&
             !(event->modifiers() & Qt::ShiftModifier)) {
    zoomBy(std::pow(kWheelStep, turn.y() / 120.0));
    event->accept();
  } else if ((event->modifiers() & Qt::ShiftModifier) || turn.x() != 0) {
    panBy(-(turn.x() != 0 ? turn.x() : turn.y()) / 120.0 * kPanStep / 2);
    event->accept();
  } else {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - turn.y() / 2);
    event->accept();
  }
  setHovered(pointer_);
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return event->ignore();
  const bool onRows = event->x() >= kGutter && event->y() >= kTop && model_;
  drag_ = event->modifiers() & Qt::ControlModifier                  ? Drag::range
          : (event->modifiers() & Qt::ShiftModifier) != 0 && onRows ? Drag::measure
                                                                    : Drag::pressed;
  pressed_ = event->pos();
  if (drag_ == Drag::measure) {
    const geometry::TimelineWindow at = windowAt(event->y() - kTop);
    measureFrom_ = measureTo_ = scene().snap(at, event->x() - kGutter, event->y() - kTop, kSnap);
  }
  pressedView_ = window().view;
  pressedScroll_ = verticalScrollBar()->value();
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->pos();
  const QPoint moved = event->pos() - pressed_;
  if (drag_ == Drag::pressed && moved.manhattanLength() >= QApplication::startDragDistance() &&
      pressed_.x() >= kGutter) {
    drag_ = Drag::pan;
    range_.remember();
    viewport()->setCursor(Qt::ClosedHandCursor);
  }
  if (drag_ == Drag::pan) {
    TimeView view = pressedView_;
    view.pan(-moved.x());
    apply(view);
    verticalScrollBar()->setValue(pressedScroll_ - moved.y());
  }
  if (drag_ == Drag::measure) {
    measureTo_ = scene().snap(windowAt(event->y() - kTop), std::max(0, event->x() - kGutter),
                              event->y() - kTop, kSnap);
  }
  setHovered(event->pos());
  if (drag_ == Drag::range || drag_ == Drag::measure) viewport()->update();
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const Drag was = std::exchange(drag_, Drag::none);
  viewport()->unsetCursor();
  if (was == Drag::pressed && event->button() == Qt::LeftButton) clickAt(event->pos());
  if (was == Drag::range && std::abs(event->x() - pressed_.x()) >= QApplication::startDragDistance()) {
    const TimeView view = window().view;
    const auto [left, right] = std::minmax({pressed_.x() - kGutter, event->x() - kGutter});
    zoomTo(view.time(left), view.time(right), 0);
  }
  if (was == Drag::measure) {
    if (measureFrom_ == measureTo_) {
      clickAt(event->pos());
    } else {
      spans_.push_back({std::min(measureFrom_, measureTo_), std::max(measureFrom_, measureTo_)});
      if (spans_.size() > kMostSpans) spans_.erase(spans_.begin());
    }
  }
  viewport()->update();
}

void TimelineCanvas::contextMenuEvent(QContextMenuEvent* event) {
  if (!model_) return;
  const int group = scene().layout().groupAt(event->pos().y() - kTop + windowAt(event->pos().y() - kTop).top);
  showGroupMenu(event->globalPos(), group < 0 ? -1 : at(scene().layout().groups, group).device);
}

void TimelineCanvas::showGroupMenu(const QPoint& position, int device) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const auto add = [&](const QString& text, GroupChange change) {
    menu->addAction(text, this, [this, change, device] { changeGroup(change, device); });
  };
  if (device >= 0) {
    add(options_.collapsed.count(device) > 0 ? tr("Unfold") : tr("Fold"), GroupChange::fold);
    add(options_.pinned.count(device) > 0 ? tr("Unpin (P)") : tr("Pin to the top (P)"), GroupChange::pin);
    add(tr("Hide (H)"), GroupChange::hide);
    add(tr("Move up (Shift+↑)"), GroupChange::up);
    add(tr("Move down (Shift+↓)"), GroupChange::down);
    menu->addSeparator();
  }
  add(tr("Fold or unfold all"), GroupChange::foldAll);
  add(options_.byStage ? tr("In the order of devices") : tr("In the order of stages"), GroupChange::byStage);
  add(tr("Show all as at first (Shift+H)"), GroupChange::showAll);
  for (QAction* action : actions()) menu->addAction(action);
  menu->popup(position);
}

void TimelineCanvas::clickAt(const QPoint& position) {
  if (position.y() < kTop) {
    if (unitClickable_ && position.x() < kGutter && position.y() >= kStepBand)
      return Q_EMIT timeUnitClicked();
    const int step = position.y() < kStepBand ? stepAt(position.x() - kGutter) : -1;
    if (step >= 0) Q_EMIT stepChosen(step);
    return;
  }
  if (position.x() >= kGutter) return select(itemUnder(position));
  const int group = scene().layout().groupAt(position.y() - kTop + windowAt(position.y() - kTop).top);
  if (group >= 0) changeGroup(GroupChange::fold, at(scene().layout().groups, group).device);
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->pos().x() < kGutter || event->pos().y() < kTop) return;
  const TimelineItem item = itemUnder(event->pos());
  if (!item) return;
  select(item);
  zoomToSelection();
}

void TimelineCanvas::setHovered(const QPoint& position) {
  const bool inRows =
      position.x() >= kGutter && position.y() >= kTop && drag_ != Drag::pan && !scene().empty();
  const bool onUnit = unitClickable_ && position.x() >= 0 && position.x() < kGutter &&
                      position.y() >= kStepBand && position.y() < kTop;
  if (drag_ != Drag::pan) viewport()->setCursor(onUnit ? Qt::PointingHandCursor : Qt::ArrowCursor);
  hovered_ = inRows ? itemUnder(position) : TimelineItem{};
  viewport()->update();
}

int TimelineCanvas::stepAt(int x) const {
  if (!model_ || x < 0) return -1;
  const base::Ticks time = window().view.time(x);
  const auto& steps = model_->trace->iterations;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].start <= time && time < steps[i].end) return static_cast<int>(i);
  }
  return -1;
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
  if (!handleKey(event->key(), event->modifiers())) QAbstractScrollArea::keyPressEvent(event);
}

bool TimelineCanvas::handleKey(int key, Qt::KeyboardModifiers modifiers) {
  if (modifiers == Qt::ControlModifier && key == Qt::Key_Z) return range_.undo(), true;
  if (modifiers & Qt::ControlModifier) return false;
  QScrollBar* bar = verticalScrollBar();
  if (modifiers & Qt::AltModifier) {
    if (key == Qt::Key_Left || key == Qt::Key_Right)
      return selectNeighbour(key == Qt::Key_Left ? -1 : 1), true;
    return false;
  }
  if (modifiers & Qt::ShiftModifier) {
    if (key == Qt::Key_W || key == Qt::Key_S) return changeRowHeight(key == Qt::Key_W ? 1 : -1), true;
    if (key == Qt::Key_R) return changeRowHeight(0), true;
    if (key == Qt::Key_H) return changeGroup(GroupChange::showAll, -1), true;
    if (key == Qt::Key_Up || key == Qt::Key_Down)
      return changeGroup(key == Qt::Key_Up ? GroupChange::up : GroupChange::down, currentDevice()), true;
    if (key == Qt::Key_Comma || key == Qt::Key_Period) return selectLike(key == Qt::Key_Comma ? -1 : 1), true;
  }
  switch (key) {
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoomBy(kKeyStep), true;
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoomBy(1 / kKeyStep), true;
    case Qt::Key_A:
    case Qt::Key_Left:
      return panBy(-kPanStep), true;
    case Qt::Key_D:
    case Qt::Key_Right:
      return panBy(kPanStep), true;
    case Qt::Key_Up:
      return bar->setValue(bar->value() - 3 * bar->singleStep()), true;
    case Qt::Key_Down:
      return bar->setValue(bar->value() + 3 * bar->singleStep()), true;
    case Qt::Key_PageUp:
      return bar->setValue(bar->value() - bar->pageStep()), true;
    case Qt::Key_PageDown:
      return bar->setValue(bar->value() + bar->pageStep()), true;
    case Qt::Key_Less:
      return selectLike(-1), true;
    case Qt::Key_Greater:
      return selectLike(1), true;
    case Qt::Key_R:
      return measureSelection(), true;
    case Qt::Key_K:
      return toggleMarker(), true;
    case Qt::Key_P:
      return changeGroup(GroupChange::pin, currentDevice()), true;
    case Qt::Key_H:
      return changeGroup(GroupChange::hide, currentDevice()), true;
    case Qt::Key_Comma:
      return selectNeighbour(-1), true;
    case Qt::Key_Period:
      return selectNeighbour(1), true;
    case Qt::Key_F:
      return zoomToSelection(), true;
    case Qt::Key_0:
      return zoomToAll(), true;
    case Qt::Key_Backspace:
      return range_.undo(), true;
    case Qt::Key_Escape:
      if (!selected_) spans_.clear(), markers_.clear(), viewport()->update();
      return select({}), true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return followWait();
    default:
      return false;
  }
}

}  // namespace pipescope::timeline
