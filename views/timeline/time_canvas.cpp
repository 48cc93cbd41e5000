#include "views/timeline/time_canvas.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLayout>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "views/timeline/page_wheel.h"
#include "views/timeline/painters/callout.h"

namespace pipescope::timeline {

using base::Ticks;
using geometry::TimeView;
using shell::Ui;

namespace {

constexpr double kZoomOfKey = 1.6, kPanOfKey = 0.2;

}  // namespace

TimeCanvas::TimeCanvas(const shell::Palette& palette, int margin, QWidget* parent)
    : QAbstractScrollArea(parent), palette_(palette), margin_(margin), labels_(font()) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  connect(&palette_, &shell::Palette::changed, this, &TimeCanvas::refresh);
}

void TimeCanvas::refresh() {
  stale_ = true;
  viewport()->update();
}

// --- Visible range ---

int TimeCanvas::rowsWidth() const {
  return std::max(1, viewport()->width() - kGutter);
}

int TimeCanvas::top() const {
  return verticalScrollBar()->value() - margin_;
}

void TimeCanvas::setRowsHeight(int height, int singleStep) {
  const int room = std::max(1, rowsArea().height() - 2 * margin_);
  verticalScrollBar()->setPageStep(room);
  verticalScrollBar()->setRange(0, std::max(0, height - room));
  verticalScrollBar()->setSingleStep(singleStep);
  refresh();
}

void TimeCanvas::show(TimeView view) {
  const auto [start, end] = bounds();
  view.setWidth(rowsWidth());
  view.keepWithin(start, end);
  if (view == view_) return;
  view_ = view;
  refresh();
  Q_EMIT viewChanged();
}

void TimeCanvas::zoomToAll() {
  const auto [start, end] = bounds();
  show(TimeView(start, end, rowsWidth()));
}

void TimeCanvas::zoomBy(double factor) {
  const auto [start, end] = bounds();
  TimeView view = view_;
  const double x = pointer_.x() > kGutter ? pointer_.x() - kGutter : view.width() / 2.0;
  view.zoomAbout(x, factor, static_cast<double>((end - start).count));
  show(view);
}

void TimeCanvas::panBy(double part) {
  TimeView view = view_;
  view.pan(part * view.width());
  show(view);
}

std::function<void()> TimeCanvas::showWhole(QWidget& frame) {
  const QSize size = frame.size();
  const TimeView view = view_;
  const int scrolled = verticalScrollBar()->value();
  frame.resize(size.width(), size.height() + verticalScrollBar()->maximum());
  frame.layout()->activate();
  const auto [start, end] = bounds();
  show(TimeView(start, end, rowsWidth()));
  return [this, &frame, size, view, scrolled] {
    frame.resize(size);
    frame.layout()->activate();
    show(view);
    verticalScrollBar()->setValue(scrolled);
  };
}

void TimeCanvas::revealRows(const geometry::Box& box) {
  const int bottom = rowsArea().height(), now = verticalScrollBar()->value();
  if (box.y < 0) {
    verticalScrollBar()->setValue(now + box.y - margin_);
  } else if (box.bottom() > bottom) {
    verticalScrollBar()->setValue(now + box.bottom() - bottom + margin_);
  }
}

std::optional<QPoint> TimeCanvas::onRows(const QPoint& position) const {
  const QRect rows = rowsArea();
  if (!rows.contains(position) || isEmpty()) return std::nullopt;
  return position - rows.topLeft();
}

// --- Painting ---

void TimeCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  if (isEmpty()) return painter.fillRect(viewport()->rect(), palette_.ui(Ui::surface));
  // After a zoom by key, another thing may be below the pointer. It did not ask for that.
  if (pointAt(onRows(pointer_))) pointAt(std::nullopt);
  // A file with a drawing gets vectors, no pixels.
  painter.paintEngine()->type() == QPaintEngine::SVG ? paintRows(painter) : paintBuffered(painter);
  paintBoxes(painter);
  if (dragging_) return;
  if (const QStringList lines = callout(); !lines.isEmpty())
    paintCallout(painter, lines, pointer_, viewport()->rect(), labels_.font(), palette_);
}

void TimeCanvas::paintBuffered(QPainter& painter) {
  const double ratio = viewport()->devicePixelRatioF();
  const QSize size = viewport()->size() * ratio;
  if (stale_ || picture_.size() != size) {
    if (picture_.size() != size) picture_ = QPixmap(size);
    picture_.setDevicePixelRatio(ratio);
    QPainter drawing(&picture_);
    paintRows(drawing);
    stale_ = false;
  }
  painter.drawPixmap(0, 0, picture_);
}

void TimeCanvas::paintBoxes(QPainter& painter) const {
  painter.save();
  painter.setClipRect(rowsArea());
  painter.setBrush(Qt::NoBrush);
  if (const auto box = hoveredBox()) {
    painter.setPen(palette_.ui(Ui::text));
    painter.drawRect(box->adjusted(0, 0, -1, -1));
  }
  if (const auto box = selectedBox()) {
    QPen pen(palette_.ui(Ui::accent), 2);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.drawRect(*box);
  }
  painter.restore();
}

// --- Events ---

void TimeCanvas::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layOut();
  view_.width() <= 1 ? zoomToAll() : show(view_);
}

void TimeCanvas::scrollContentsBy(int, int) {
  refresh();
}

bool TimeCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    pointAt(std::nullopt);
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void TimeCanvas::wheelEvent(QWheelEvent* event) {
  if (scrollsPage(*event, *this)) return event->ignore();
  pointer_ = event->position().toPoint();
  const QPoint turn = event->angleDelta();
  if ((event->modifiers() & Qt::ControlModifier) || wheelZooms(pointer_)) {
    zoomBy(std::pow(kZoomOfNotch, turn.y() / kNotch));
  } else if ((event->modifiers() & Qt::ShiftModifier) || turn.x() != 0 ||
             verticalScrollBar()->maximum() == 0) {
    panBy(-(turn.x() != 0 ? turn.x() : turn.y()) / kNotch * kPanOfNotch);
  } else {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - turn.y() / 2);
  }
  event->accept();
}

void TimeCanvas::mousePressEvent(QMouseEvent* event) {
  pressing_ = event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton;
  pressed_ = event->pos();
  pressedView_ = view_;
}

void TimeCanvas::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->pos();
  if (pressing_ && !dragging_ &&
      (event->pos() - pressed_).manhattanLength() >= QApplication::startDragDistance())
    dragging_ = true;
  if (dragging_) dragTo(event->pos());
  pointAt(onRows(pointer_));
  viewport()->update();
}

void TimeCanvas::dragTo(const QPoint& position) {
  TimeView view = pressedView_;
  view.pan(pressed_.x() - position.x());
  show(view);
}

void TimeCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const bool clicked = pressing_ && !dragging_ && event->button() == Qt::LeftButton;
  pressing_ = dragging_ = false;
  if (const auto point = onRows(event->pos()); clicked && point) click(*point);
}

void TimeCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (!isEmpty()) doubleClick(onRows(event->pos()));
}

void TimeCanvas::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoomBy(kZoomOfKey);
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoomBy(1 / kZoomOfKey);
    case Qt::Key_A:
      return panBy(-kPanOfKey);
    case Qt::Key_D:
      return panBy(kPanOfKey);
    case Qt::Key_0:
      return zoomToAll();
    default:
      if (!pressKey(event->key())) QAbstractScrollArea::keyPressEvent(event);
  }
}

}  // namespace pipescope::timeline
