#include "views/timeline/host_canvas.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLayout>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "views/timeline/callout.h"

namespace pipescope::timeline {

using base::Ticks;
using geometry::HostHit;
using geometry::HostScene;
using geometry::TimeView;
using shell::Ui;

namespace {

constexpr int kHostMargin = 8;

}  // namespace

HostCanvas::HostCanvas(const shell::Palette& palette, QWidget* parent)
    : QAbstractScrollArea(parent), palette_(palette), labels_(font()) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  setMinimumHeight(160);
  setAccessibleName(tr("Timeline of the host"));
  connect(&palette_, &shell::Palette::changed, this, [this] {
    stale_ = true;
    viewport()->update();
  });
}

void HostCanvas::setTimeline(std::shared_ptr<const analysis::HostTimeline> timeline, bool keepView) {
  const bool sameBegin = keepView && scene_.timeline() != nullptr && timeline != nullptr &&
                         scene_.timeline()->zero == timeline->zero && view_.width() > 1;
  const bool all = !sameBegin || view_.end() >= end();
  const std::optional<HostHit> before = sameBegin ? selected_ : std::nullopt;
  const auto times = before ? scene_.timesOf(*before) : std::pair<Ticks, Ticks>();
  scene_ = HostScene(std::move(timeline));
  hovered_.reset();
  // What was added since may come before it in the list.
  selected_ = before ? scene_.find(*before, times) : std::nullopt;
  if (!sameBegin) only_ = -1;
  layOut();
  if (all) zoomToAll();
  Q_EMIT selectionChanged();
}

Ticks HostCanvas::end() const {
  return scene_.timeline() == nullptr ? Ticks(1) : std::max(Ticks(1), scene_.timeline()->end);
}

int HostCanvas::rowsWidth() const {
  return std::max(1, viewport()->width() - kGutter);
}

int HostCanvas::top() const {
  return verticalScrollBar()->value() - kHostMargin;
}

void HostCanvas::layOut() {
  const int room = std::max(1, viewport()->height() - kHead);
  verticalScrollBar()->setPageStep(room);
  verticalScrollBar()->setRange(0, std::max(0, scene_.height() + 2 * kHostMargin - room));
  verticalScrollBar()->setSingleStep(HostScene::kRow);
  stale_ = true;
  viewport()->update();
}

void HostCanvas::show(TimeView view) {
  view.setWidth(rowsWidth());
  view.keepWithin(Ticks(0), end());
  if (view == view_) return;
  view_ = view;
  stale_ = true;
  viewport()->update();
  Q_EMIT viewChanged();
}

void HostCanvas::zoomToAll() {
  show(TimeView(Ticks(0), end(), rowsWidth()));
}

void HostCanvas::zoomTo(Ticks start, Ticks end) {
  const double length = std::max(1.0, static_cast<double>((end - start).count));
  const Ticks room(static_cast<std::int64_t>(std::ceil(length * 0.1)) + 2);
  show(TimeView(start - room, end + room, rowsWidth()));
}

void HostCanvas::zoomBy(double factor) {
  TimeView view = view_;
  const double x = pointer_.x() > kGutter ? pointer_.x() - kGutter : view.width() / 2.0;
  view.zoomAbout(x, factor, static_cast<double>(end().count));
  show(view);
}

void HostCanvas::setOnly(int name) {
  if (name == only_) return;
  only_ = name;
  stale_ = true;
  viewport()->update();
}

void HostCanvas::select(std::optional<HostHit> hit) {
  if (hit == selected_) return;
  selected_ = hit;
  if (hit) reveal(*hit);
  viewport()->update();
  Q_EMIT selectionChanged();
}

void HostCanvas::reveal(const HostHit& hit) {
  const geometry::Box box = scene_.boxOf(view_, top(), hit);
  const int bottom = viewport()->height() - kHead;
  if (box.y < 0) verticalScrollBar()->setValue(verticalScrollBar()->value() + box.y - kHostMargin);
  if (box.bottom() > bottom)
    verticalScrollBar()->setValue(verticalScrollBar()->value() + box.bottom() - bottom + kHostMargin);
  const auto [start, finish] = scene_.timesOf(hit);
  const double left = view_.x(start), right = view_.x(finish), width = view_.width();
  if (left < width && right > 0) return;
  TimeView view = view_;
  view.pan(right - left > width ? left - width * 0.1 : (left + right) / 2 - width / 2);
  show(view);
}

std::function<void()> HostCanvas::showWhole(QWidget& frame) {
  const QSize size = frame.size();
  const TimeView view = view_;
  const int scrolled = verticalScrollBar()->value();
  frame.resize(size.width(), size.height() + verticalScrollBar()->maximum());
  frame.layout()->activate();
  zoomToAll();
  return [this, &frame, size, view, scrolled] {
    frame.resize(size);
    frame.layout()->activate();
    show(view);
    verticalScrollBar()->setValue(scrolled);
  };
}

QRect HostCanvas::rectOf(const HostHit& hit) const {
  const geometry::Box box = scene_.boxOf(view_, top(), hit);
  return {box.x + kGutter, box.y + kHead, box.width, box.height};
}

void HostCanvas::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layOut();
  view_.width() <= 1 ? zoomToAll() : show(view_);
}

void HostCanvas::scrollContentsBy(int, int) {
  stale_ = true;
  viewport()->update();
}

bool HostCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave && hovered_) {
    hovered_.reset();
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

std::optional<geometry::HostHit> HostCanvas::hitAt(const QPoint& position) const {
  const bool onRows = position.x() >= kGutter && position.y() >= kHead;
  return onRows && scene_.timeline() != nullptr
             ? scene_.hit(view_, top(), position.x() - kGutter, position.y() - kHead)
             : std::nullopt;
}

void HostCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  if (scene_.timeline() == nullptr) return painter.fillRect(viewport()->rect(), palette_.ui(Ui::surface));
  // After a zoom by key, another thing may be below the pointer.
  if (hovered_ && hitAt(pointer_) != hovered_) hovered_.reset();
  const HostPainter::Content content{.palette = palette_,
                                     .labels = labels_,
                                     .scene = scene_,
                                     .view = view_,
                                     .end = end(),
                                     .size = viewport()->size(),
                                     .top = top(),
                                     .only = only_};
  // A file with a drawing gets vectors, no pixels.
  if (painter.paintEngine()->type() == QPaintEngine::SVG) {
    HostPainter(content).paint(painter);
  } else {
    const double ratio = viewport()->devicePixelRatioF();
    const QSize size = viewport()->size() * ratio;
    if (stale_ || picture_.size() != size) {
      if (picture_.size() != size) picture_ = QPixmap(size);
      picture_.setDevicePixelRatio(ratio);
      QPainter drawing(&picture_);
      HostPainter(content).paint(drawing);
      stale_ = false;
    }
    painter.drawPixmap(0, 0, picture_);
  }
  paintOverlay(painter);
  if (hovered_ && describe_ && !dragging_)
    paintCallout(painter, describe_(*hovered_), pointer_, viewport()->rect(), labels_.font(), palette_);
}

void HostCanvas::paintOverlay(QPainter& painter) const {
  painter.save();
  painter.setClipRect(kGutter, kHead, rowsWidth(), viewport()->height() - kHead);
  painter.setBrush(Qt::NoBrush);
  if (hovered_ && hovered_->kind != HostHit::Kind::curve) {
    painter.setPen(palette_.ui(Ui::text));
    painter.drawRect(rectOf(*hovered_).adjusted(0, 0, -1, -1));
  }
  if (selected_) {
    QPen pen(palette_.ui(Ui::accent), 2);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.drawRect(rectOf(*selected_));
  }
  painter.restore();
}

void HostCanvas::wheelEvent(QWheelEvent* event) {
  pointer_ = event->position().toPoint();
  const QPoint turn = event->angleDelta();
  const bool onHead = pointer_.y() < kHead;
  if ((event->modifiers() & Qt::ControlModifier) || onHead) {
    zoomBy(std::pow(1.25, turn.y() / 120.0));
  } else if ((event->modifiers() & Qt::ShiftModifier) || turn.x() != 0) {
    TimeView view = view_;
    view.pan(-(turn.x() != 0 ? turn.x() : turn.y()) / 120.0 * view.width() * 0.1);
    show(view);
  } else if (verticalScrollBar()->maximum() == 0) {
    zoomBy(std::pow(1.25, turn.y() / 120.0));
  } else {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - turn.y() / 2);
  }
  event->accept();
}

/// Moves the visible part so that its middle lies below the pointer.
void HostCanvas::moveOverview(int x) {
  const TimeView whole(Ticks(0), end(), rowsWidth());
  TimeView view = view_;
  view.pan(view.x(whole.time(x - kGutter)) - view.width() / 2.0);
  show(view);
}

void HostCanvas::mousePressEvent(QMouseEvent* event) {
  pressing_ = event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton;
  pressed_ = event->pos();
  pressedView_ = view_;
  onOverview_ = pressing_ && event->y() < kOverview;
  if (onOverview_ && event->x() >= kGutter) moveOverview(event->x());
}

void HostCanvas::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->pos();
  if (pressing_ && !dragging_ &&
      (event->pos() - pressed_).manhattanLength() >= QApplication::startDragDistance())
    dragging_ = true;
  if (dragging_ && onOverview_) {
    moveOverview(event->x());
  } else if (dragging_) {
    TimeView view = pressedView_;
    view.pan(pressed_.x() - event->x());
    show(view);
  }
  hovered_ = hitAt(pointer_);
  viewport()->update();
}

void HostCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const bool click = pressing_ && !dragging_ && event->button() == Qt::LeftButton;
  pressing_ = dragging_ = onOverview_ = false;
  if (!click || event->x() < kGutter || event->y() < kHead || scene_.timeline() == nullptr) return;
  select(scene_.hit(view_, top(), event->x() - kGutter, event->y() - kHead));
}

void HostCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (scene_.timeline() == nullptr) return;
  const bool onRows = event->x() >= kGutter && event->y() >= kHead;
  const auto hit = onRows ? scene_.hit(view_, top(), event->x() - kGutter, event->y() - kHead) : std::nullopt;
  if (!hit) return zoomToAll();
  const auto [start, finish] = scene_.timesOf(*hit);
  zoomTo(start, finish);
}

void HostCanvas::keyPressEvent(QKeyEvent* event) {
  const auto pan = [&](double part) {
    TimeView view = view_;
    view.pan(part * view.width());
    show(view);
  };
  const auto choose = [&](const auto& find) {
    const std::optional<HostHit> next = selected_ ? find(*selected_) : scene_.first();
    if (next) select(next);
  };
  const auto beside = [&](int direction) {
    choose([&](const HostHit& hit) { return scene_.neighbour(hit, direction); });
  };
  const auto inward = [&](int direction) {
    choose([&](const HostHit& hit) { return scene_.inward(hit, direction); });
  };
  switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoomBy(1.6);
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoomBy(1 / 1.6);
    case Qt::Key_A:
      return pan(-0.2);
    case Qt::Key_D:
      return pan(0.2);
    case Qt::Key_0:
      return zoomToAll();
    case Qt::Key_F:
      if (!selected_) return;
      return zoomTo(scene_.timesOf(*selected_).first, scene_.timesOf(*selected_).second);
    case Qt::Key_Comma:
    case Qt::Key_Left:
      return beside(-1);
    case Qt::Key_Period:
    case Qt::Key_Right:
      return beside(1);
    case Qt::Key_Up:
      return inward(-1);
    case Qt::Key_Down:
      return inward(1);
    case Qt::Key_Escape:
      return select({});
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

}  // namespace pipescope::timeline
