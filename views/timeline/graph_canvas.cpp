#include "views/timeline/graph_canvas.h"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

namespace pipescope::timeline {
namespace {
constexpr double kMostScale = 3, kLeastScale = 0.002, kZoomStep = 1.25, kPanStep = 60;
constexpr int kRevealMargin = 30;

/// Factor by which texts and lines are larger than in the graph's own size. One half of an enlarged box's
/// growth goes to larger letters and the other half to more of them.
double enlarged(double scale) {
  return std::sqrt(std::max(1.0, scale));
}
}  // namespace

GraphCanvas::GraphCanvas(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent), palette_(palette), labels_(font()) {
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  connect(&palette_, &shell::Palette::changed, this, qOverload<>(&QWidget::update));
}

void GraphCanvas::setScene(std::shared_ptr<const geometry::GraphScene> scene) {
  scene_ = std::move(scene);
  selected_ = -1;
  zoomToAll();
}

void GraphCanvas::zoomToAll() {
  if (scene_) place_ = scene_->whole(width(), height());
  shown_ = true;
  update();
}

void GraphCanvas::select(int box) {
  selected_ = box;
  if (box >= 0) reveal(box);
  update();
}

/// Moves a box into view, and makes it large enough to be read.
void GraphCanvas::reveal(int box) {
  constexpr double kReadable = 0.6;
  if (place_.scale < kReadable) zoomAbout(kReadable / place_.scale, QPointF(boxRect(box).center()));
  const QRect rect = boxRect(box);
  const QRect room = this->rect().adjusted(kRevealMargin, kRevealMargin, -kRevealMargin, -kRevealMargin);
  if (!room.contains(rect)) pan(width() / 2.0 - rect.center().x(), height() / 2.0 - rect.center().y());
}

QRect GraphCanvas::boxRect(int box) const {
  if (!scene_ || box < 0 || box >= static_cast<int>(scene_->size())) return {};
  const geometry::Box found = scene_->boxOf(place_, box);
  return {found.x, found.y, found.width, found.height};
}

void GraphCanvas::zoomAbout(double factor, const QPointF& at) {
  const double scale = std::clamp(place_.scale * factor, kLeastScale, kMostScale);
  factor = scale / place_.scale;
  place_ = {scale, at.x() - (at.x() - place_.x) * factor, at.y() - (at.y() - place_.y) * factor};
  shown_ = false;
  update();
}

void GraphCanvas::zoomBy(double factor) {
  zoomAbout(factor, QPointF(width() / 2.0, height() / 2.0));
}

void GraphCanvas::pan(double dx, double dy) {
  place_.x += dx;
  place_.y += dy;
  shown_ = false;
  update();
}

void GraphCanvas::paintEvent(QPaintEvent*) {
  if (!scene_) return;
  QPainter painter(this);
  const double large = enlarged(place_.scale);
  painter.scale(large, large);
  const geometry::GraphPlace place{place_.scale / large, place_.x / large, place_.y / large};
  const auto part = [large](int pixels) { return static_cast<int>(std::ceil(pixels / large)); };
  paintShapes(painter, scene_->draw(place, part(width()), part(height()), labels_.measure(), selected_),
              palette_, labels_);
}

/// A graph that was shown as a whole stays so when the window changes.
void GraphCanvas::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (shown_) zoomToAll();
}

void GraphCanvas::wheelEvent(QWheelEvent* event) {
  zoomAbout(std::pow(kZoomStep, event->angleDelta().y() / 120.0), event->position());
  event->accept();
}

void GraphCanvas::mousePressEvent(QMouseEvent* event) {
  pressing_ = event->button() == Qt::LeftButton;
  dragging_ = false;
  pressed_ = event->pos();
  pressedPlace_ = place_;
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!pressing_) return;
  const QPoint way = event->pos() - pressed_;
  dragging_ = dragging_ || way.manhattanLength() >= QApplication::startDragDistance();
  if (!dragging_) return;
  place_ = pressedPlace_;
  pan(way.x(), way.y());
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (!pressing_ || event->button() != Qt::LeftButton) return;
  pressing_ = false;
  if (!dragging_ && scene_) choose(scene_->hit(place_, event->x(), event->y()));
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (!scene_) return;
  const int box = scene_->hit(place_, event->x(), event->y());
  box >= 0 ? Q_EMIT opened(box) : zoomToAll();
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event) {
  const int box = scene_ ? scene_->hit(place_, event->x(), event->y()) : -1;
  if (box < 0) return event->ignore();
  choose(box);
  Q_EMIT menuWanted(box, event->globalPos());
}

void GraphCanvas::choose(int box) {
  selected_ = box;
  update();
  Q_EMIT selectionChanged(box);
}

void GraphCanvas::step(int by) {
  if (!scene_ || scene_->size() == 0) return;
  const int last = static_cast<int>(scene_->size()) - 1;
  const int next = selected_ < 0 ? 0 : std::clamp(selected_ + by, 0, last);
  select(next);
  Q_EMIT selectionChanged(next);
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      return pan(kPanStep, 0);
    case Qt::Key_Right:
      return pan(-kPanStep, 0);
    case Qt::Key_Up:
      return pan(0, kPanStep);
    case Qt::Key_Down:
      return pan(0, -kPanStep);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoomBy(kZoomStep);
    case Qt::Key_Minus:
      return zoomBy(1 / kZoomStep);
    case Qt::Key_Home:
    case Qt::Key_0:
      return zoomToAll();
    case Qt::Key_Period:
      return step(1);
    case Qt::Key_Comma:
      return step(-1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (selected_ >= 0) Q_EMIT opened(selected_);
      return;
    case Qt::Key_Backspace:
      Q_EMIT leaveWanted();
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

bool GraphCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !scene_ || !describe_) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int box = scene_->hit(place_, help->x(), help->y());
  box >= 0 ? QToolTip::showText(help->globalPos(), describe_(box), this, boxRect(box)) : QToolTip::hideText();
  return true;
}

}  // namespace pipescope::timeline
