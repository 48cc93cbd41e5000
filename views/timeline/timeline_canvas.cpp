#include "views/timeline/timeline_canvas.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "profiler/geometry/element.h"

namespace pipescope::timeline {

using geometry::at;
using geometry::TimelineItem;
using geometry::TimeView;

namespace {

constexpr double kWheelStep = 1.25, kKeyStep = 1.6, kPanStep = 0.2;
/// Gestures further apart than this are undone one by one.
constexpr int kGestureMs = 600;

}  // namespace

TimelineCanvas::TimelineCanvas(const shell::Palette& palette, shell::TimeRange& range, QWidget* parent)
    : QAbstractScrollArea(parent), palette_(palette), range_(range), labels_(font()) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  viewport()->setAutoFillBackground(false);
  setMinimumHeight(160);
  setAccessibleName(tr("Timeline"));
  verticalScrollBar()->setSingleStep(18);
  connect(&palette_, &shell::Palette::changed, this, &TimelineCanvas::refresh);
  connect(&range_, &shell::TimeRange::changed, this, &TimelineCanvas::refresh);
}

void TimelineCanvas::setModel(std::shared_ptr<const geometry::TimelineModel> model) {
  model_ = std::move(model);
  selected_ = hovered_ = {};
  layOut();
  Q_EMIT selectionChanged();
}

void TimelineCanvas::setOptions(const geometry::TimelineOptions& options) {
  if (options == options_) return;
  options_ = options;
  // Rows move: what was selected is found again by what it is.
  const TimelineItem before = selected_;
  layOut();
  selected_ = {};
  if (before.kind == TimelineItem::Kind::transfer) selected_ = scene_.transferItem(before.index);
  if (before.kind == TimelineItem::Kind::wait) selected_ = scene_.waitItem(before.device, before.index);
  if (before.kind == TimelineItem::Kind::pass) {
    const auto& track = at(at(model_->trace->devices, before.device).tracks, before.track);
    selected_ = scene_.passItem({before.device, before.track, at(track.passes, before.index).firstPlacement});
  }
  hovered_ = {};
  Q_EMIT selectionChanged();
}

void TimelineCanvas::setTimeScale(const geometry::TimeScale& scale, bool clickable) {
  scale_ = scale;
  unitClickable_ = clickable;
  refresh();
}

geometry::RowMetrics TimelineCanvas::rowMetrics() const {
  geometry::RowMetrics metrics;
  if (stepHeight_ > 0) {
    metrics.step = stepHeight_;
    return metrics;
  }
  return model_ ? geometry::fitRows(*model_, options_, viewport()->height() - kTop, metrics) : metrics;
}

void TimelineCanvas::layOut() {
  metrics_ = rowMetrics();
  scene_ = model_ ? geometry::TimelineScene(model_, geometry::layOutTimeline(*model_, options_, metrics_),
                                            options_)
                  : geometry::TimelineScene();
  const int visible = std::max(1, viewport()->height() - kTop);
  verticalScrollBar()->setPageStep(visible);
  verticalScrollBar()->setRange(0, std::max(0, scene_.layout().height - visible));
  refresh();
}

void TimelineCanvas::changeRowHeight(int direction) {
  constexpr int kHighest = 30, kBy = 3;
  stepHeight_ =
      direction == 0 ? 0 : std::clamp(metrics_.step + direction * kBy, geometry::kLowestStep, kHighest);
  layOut();
}

void TimelineCanvas::refresh() {
  pictureStale_ = true;
  viewport()->update();
}

int TimelineCanvas::rowsWidth() const {
  return std::max(1, viewport()->width() - kGutter);
}

geometry::TimelineWindow TimelineCanvas::window() const {
  TimeView view = range_.view();
  view.setWidth(rowsWidth());
  return {view, verticalScrollBar()->value(), std::max(0, viewport()->height() - kTop)};
}

void TimelineCanvas::apply(TimeView view) {
  if (!model_) return;
  view.setWidth(rowsWidth());
  view.keepWithin(model_->trace->start, model_->trace->end);
  range_.show(view);
}

/// A burst of wheel or key events is one step of undo.
void TimelineCanvas::rememberGesture() {
  if (!gesture_.isValid() || gesture_.elapsed() > kGestureMs) range_.remember();
  gesture_.start();
}

void TimelineCanvas::select(const TimelineItem& item) {
  if (item == selected_) return;
  selected_ = item;
  viewport()->update();
  Q_EMIT selectionChanged();
}

void TimelineCanvas::reveal(const TimelineItem& item) {
  if (!item) return;
  if (item.row >= 0) {
    const geometry::TimelineRow& row = at(scene_.layout().rows, item.row);
    const int top = verticalScrollBar()->value(), visible = viewport()->height() - kTop;
    if (row.y < top) verticalScrollBar()->setValue(row.y - 8);
    if (row.y + row.height > top + visible) verticalScrollBar()->setValue(row.y + row.height - visible + 8);
  }
  TimeView view = window().view;
  const double left = view.x(item.start), right = view.x(item.end), width = view.width();
  if (left >= 0 && right <= width) return;
  range_.remember();
  if (right - left > width) {
    view.pan(left - width * 0.1);
  } else {
    view.pan((left + right) / 2 - width / 2);
  }
  apply(view);
}

void TimelineCanvas::zoomTo(base::Ticks start, base::Ticks end, double room) {
  if (!model_) return;
  const double length = std::max(1.0, static_cast<double>((end - start).count));
  const base::Ticks margin(static_cast<std::int64_t>(std::ceil(length * room)));
  range_.remember();
  gesture_.invalidate();
  apply(TimeView(
      start - margin,
      std::max(end + margin, start - margin + base::Ticks(static_cast<std::int64_t>(TimeView::kShortest))),
      rowsWidth()));
}

void TimelineCanvas::zoomToSelection() {
  if (selected_) zoomTo(selected_.start, selected_.end, 0.1);
}

void TimelineCanvas::zoomToAll() {
  if (model_) zoomTo(model_->trace->start, model_->trace->end, 0);
}

void TimelineCanvas::zoomBy(double factor) {
  if (!model_) return;
  rememberGesture();
  TimeView view = window().view;
  const double x = pointer_.x() >= kGutter ? pointer_.x() - kGutter : view.width() / 2.0;
  view.zoomAbout(x, factor, static_cast<double>((model_->trace->end - model_->trace->start).count));
  apply(view);
}

void TimelineCanvas::panBy(double fraction) {
  rememberGesture();
  TimeView view = window().view;
  view.pan(fraction * view.width());
  apply(view);
}

bool TimelineCanvas::followWait() {
  const TimelineItem cause = scene_.empty() ? TimelineItem{} : scene_.waitedFor(selected_);
  if (!cause) return false;
  select(cause);
  reveal(cause);
  return true;
}

void TimelineCanvas::selectNeighbour(int direction) {
  const TimelineItem next = scene_.empty() ? TimelineItem{} : scene_.neighbour(selected_, direction);
  if (!next) return;
  select(next);
  reveal(next);
}

bool TimelineCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    pointer_ = {-1, -1};
    hovered_ = {};
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void TimelineCanvas::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layOut();  // rows keep their order: what is selected stays
  TimeView view = range_.view();
  view.setWidth(rowsWidth());
  range_.show(view);
}

void TimelineCanvas::scrollContentsBy(int, int) {
  setHovered(pointer_);
  refresh();
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  pointer_ = event->position().toPoint();
  constexpr auto kRows = Qt::ControlModifier | Qt::ShiftModifier;
  if ((event->modifiers() & kRows) == kRows) {
    if (turn.y() != 0) changeRowHeight(turn.y() > 0 ? 1 : -1);
    event->accept();
  } else if (event->modifiers() & Qt::ControlModifier) {
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
  drag_ = event->modifiers() & Qt::ControlModifier ? Drag::range : Drag::pressed;
  pressed_ = event->pos();
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
  setHovered(event->pos());
  if (drag_ == Drag::range) viewport()->update();
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
  viewport()->update();
}

void TimelineCanvas::clickAt(const QPoint& position) {
  if (position.y() < kTop) {
    if (unitClickable_ && position.x() < kGutter && position.y() >= kStepBand)
      return Q_EMIT timeUnitClicked();
    const int step = position.y() < kStepBand ? stepAt(position.x() - kGutter) : -1;
    if (step >= 0) Q_EMIT stepChosen(step);
    return;
  }
  if (position.x() >= kGutter)
    return select(scene_.itemAt(window(), position.x() - kGutter, position.y() - kTop));
  const int group = scene_.layout().groupAt(position.y() - kTop + verticalScrollBar()->value());
  if (group < 0) return;
  geometry::TimelineOptions options = options_;
  const int device = at(scene_.layout().groups, group).device;
  if (options.collapsed.erase(device) == 0) options.collapsed.insert(device);
  setOptions(options);
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->pos().x() < kGutter || event->pos().y() < kTop) return;
  const TimelineItem item = scene_.itemAt(window(), event->pos().x() - kGutter, event->pos().y() - kTop);
  if (!item) return;
  select(item);
  zoomToSelection();
}

void TimelineCanvas::setHovered(const QPoint& position) {
  const bool inRows =
      position.x() >= kGutter && position.y() >= kTop && drag_ != Drag::pan && !scene_.empty();
  const bool onUnit = unitClickable_ && position.x() >= 0 && position.x() < kGutter &&
                      position.y() >= kStepBand && position.y() < kTop;
  if (drag_ != Drag::pan) viewport()->setCursor(onUnit ? Qt::PointingHandCursor : Qt::ArrowCursor);
  hovered_ = inRows ? scene_.itemAt(window(), position.x() - kGutter, position.y() - kTop) : TimelineItem{};
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
      return select({}), true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return followWait();
    default:
      return false;
  }
}

}  // namespace pipescope::timeline
