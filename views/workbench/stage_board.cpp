#include "views/workbench/stage_board.h"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QToolTip>
#include <algorithm>

#include "views/shell/look/palette.h"
#include "views/workbench/stage_figures.h"
#include "views/workbench/stage_painter.h"

namespace pipescope::workbench {

namespace {
constexpr int kEdge = 40;  // pixels that stay visible around the pointer during a drag
}  // namespace

StageBoard::StageBoard(const shell::Palette& palette, QWidget* parent) : QWidget(parent), palette_(palette) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName(tr("Stages"));
  setAccessibleDescription(
      tr("Blocks of the model by stage and device. Arrow "
         "keys mark a block, Ctrl with an "
         "arrow key moves it to the stage beside, Insert "
         "gives it a stage of its own."));
  connect(&palette_, &shell::Palette::changed, this, qOverload<>(&QWidget::update));
}

void StageBoard::clear() {
  places_ = {};
  trial_.reset();
  prediction_.reset();
  before_.reset();
  marked_.clear();
  dragging_ = pressed_ = pending_ = false;
  arrange();
}

void StageBoard::setPlaces(const StagePlaces& places) {
  places_ = places;
  trial_.reset();
  prediction_.reset();
  if (!places_.order.contains(marked_)) marked_ = places_.order.value(0);
  arrange();
}

void StageBoard::setPrediction(const Prediction& prediction) {
  prediction_ = prediction;
  pending_ = false;
  arrange();
}

void StageBoard::setPending(bool pending) {
  pending_ = pending;
  update();
}

void StageBoard::arrange() {
  const QFontMetrics metrics(font());
  // The board lies in an area that scrolls: the area says how much is seen at once.
  const QSize seen(width(), parentWidget() == nullptr ? height() : parentWidget()->height());
  const BoardSizes sizes = dragging_ ? layout_.sizes() : StageLayout::sizesFor(places(), metrics, seen);
  layout_ = StageLayout(places(), metrics, width(), sizes);
  updateGeometry();
  // The rows of columns follow the width, so only the height may ask for room.
  setMinimumHeight(layout_.size().height());
  update();
}

void StageBoard::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (event->size() != event->oldSize()) arrange();
}

/// The area may show more or less of the board although the board keeps its size.
bool StageBoard::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize) arrange();
  return QWidget::eventFilter(watched, event);
}

QRect StageBoard::headRect(int stage) const {
  const StageBox* box = layout_.boxOf(stage);
  return box == nullptr ? QRect() : box->head;
}

QRect StageBoard::stageRect(int stage) const {
  const StageBox* box = layout_.boxOf(stage);
  return box == nullptr ? QRect() : box->rect;
}

QStringList StageBoard::figures(int stage) const {
  return stageFigures(prediction_, before_, stage);
}

/// Returns the stages that result if the held thing is dropped here.
StagePlaces StageBoard::placesAt(const QPoint& at) const {
  const bool onNew = layout_.newDevice().contains(at);
  if (heldStage_ >= 0)
    return withStageOn(places_, heldStage_, onNew ? nextDevice(places_) : layout_.deviceAt(at));
  if (const StageBox* box = layout_.boxAt(at)) {
    // The board shows the trial, whose stages may have other numbers than those before it.
    for (const QString& block : places().stages[static_cast<std::size_t>(box->stage)].blocks) {
      if (block != held_) return withBlockIn(places_, held_, stageOf(places_, block));
    }
    return places();
  }
  return onNew ? withBlockAlone(places_, held_, nextDevice(places_)) : places_;
}

void StageBoard::tryAt(const QPoint& at) {
  const StagePlaces next = placesAt(at);
  if (next == places()) return;
  trial_ = next;
  pending_ = true;
  arrange();
  Q_EMIT tried(next);
}

void StageBoard::mousePressEvent(QMouseEvent* event) {
  const StageBox* box = event->button() == Qt::LeftButton ? layout_.boxAt(event->pos()) : nullptr;
  if (box == nullptr) return;
  held_.clear();
  heldStage_ = -1;
  for (const StageCard& card : box->cards) {
    if (card.rect.contains(event->pos())) held_ = marked_ = card.block;
  }
  const int pad = layout_.sizes().pad;
  if (held_.isEmpty() && box->head.adjusted(-pad, -pad, pad, 0).contains(event->pos()))
    heldStage_ = box->stage;
  pressed_ = !held_.isEmpty() || heldStage_ >= 0;
  pressedAt_ = event->pos();
  update();
}

void StageBoard::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->pos();
  if (!pressed_) {
    const StageBox* box = layout_.boxAt(event->pos());
    const bool grips = box != nullptr && (box->head.contains(event->pos()) ||
                                          std::ranges::any_of(box->cards, [&](const StageCard& card) {
                                            return card.rect.contains(event->pos());
                                          }));
    setCursor(grips ? Qt::OpenHandCursor : Qt::ArrowCursor);
    return;
  }
  if (!dragging_) {
    if ((event->pos() - pressedAt_).manhattanLength() < QApplication::startDragDistance()) return;
    if (const QString why = whyFixed(places_); !why.isEmpty()) {
      pressed_ = false;
      QToolTip::showText(event->globalPos(), why, this);
      return;
    }
    dragging_ = true;
    before_ = prediction_;
    setCursor(Qt::ClosedHandCursor);
  }
  tryAt(event->pos());
  update();
  Q_EMIT attention(QRect(event->pos() - QPoint(kEdge, kEdge), QSize(2 * kEdge, 2 * kEdge)));
}

void StageBoard::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressed_) return;
  pressed_ = false;
  if (!dragging_) return update();
  tryAt(event->pos());
  endDrag();
}

void StageBoard::endDrag() {
  dragging_ = false;
  pressed_ = false;
  setCursor(Qt::ArrowCursor);
  if (!trial_ || *trial_ == places_) {
    trial_.reset();
    prediction_ = before_;
    pending_ = false;
    arrange();
    Q_EMIT abandoned();
    return;
  }
  places_ = *trial_;
  trial_.reset();
  arrange();
  repaint();  // now, because the rest takes a moment and the card must not seem to be held meanwhile
  Q_EMIT moved(places_);
}

void StageBoard::moveMarked(const StagePlaces& next) {
  if (next == places_ || !whyFixed(places_).isEmpty()) return;
  before_ = prediction_;
  places_ = next;
  pending_ = true;
  arrange();
  Q_EMIT moved(places_);
}

/// Marks the block so many places further in the model, or the first one of a stage beside.
void StageBoard::mark(int step, int stageStep) {
  if (places_.order.isEmpty()) return;
  if (stageStep != 0) {
    const int stage =
        std::clamp(stageOf(places_, marked_) + stageStep, 0, static_cast<int>(places_.stages.size()) - 1);
    marked_ = places_.stages[static_cast<std::size_t>(stage)].blocks.value(0);
  } else {
    const int at = std::clamp(places_.order.indexOf(marked_) + step, 0, places_.order.size() - 1);
    marked_ = places_.order[at];
  }
  update();
  Q_EMIT attention(cardRect(marked_));
}

void StageBoard::keyPressEvent(QKeyEvent* event) {
  const bool moves = (event->modifiers() & Qt::ControlModifier) != 0;
  const int stage = stageOf(places_, marked_);
  switch (event->key()) {
    case Qt::Key_Escape:
      if (!dragging_) return QWidget::keyPressEvent(event);
      trial_.reset();
      return endDrag();
    case Qt::Key_Left:
    case Qt::Key_Right: {
      const int step = event->key() == Qt::Key_Left ? -1 : 1;
      if (!moves) return mark(0, step);
      return moveMarked(withBlockIn(places_, marked_, stage + step));
    }
    case Qt::Key_Up:
      return mark(-1, 0);
    case Qt::Key_Down:
      return mark(1, 0);
    case Qt::Key_Insert:
      return moveMarked(withBlockAlone(places_, marked_, nextDevice(places_)));
    default:
      QWidget::keyPressEvent(event);
  }
}

void StageBoard::focusInEvent(QFocusEvent* event) {
  if (marked_.isEmpty()) marked_ = places_.order.value(0);
  QWidget::focusInEvent(event);
  update();
}

bool StageBoard::event(QEvent* event) {
  if (event->type() == QEvent::ParentChange && parentWidget() != nullptr)
    parentWidget()->installEventFilter(this);
  if (event->type() == QEvent::FontChange) arrange();
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const StageBox* box = layout_.boxAt(help->pos());
  QString tip =
      tr("Arrow keys mark a block, Ctrl+← and Ctrl+→ move it, and Insert gives it a stage of its own");
  if (layout_.newDevice().contains(help->pos()))
    tip = tr("Drop a block here to give it a stage and a device of its own");
  if (box != nullptr)
    tip = stageTip(places().stages[static_cast<std::size_t>(box->stage)], box->stage, prediction_);
  QToolTip::showText(help->globalPos(), tip, this);
  return true;
}

void StageBoard::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const StagePicture picture{layout_, prediction_, before_, pending_, hasFocus() ? marked_ : QString(),
                             held_,   dragging_,   pointer_};
  StagePainter(painter, palette_, font(), picture).paint();
}

}  // namespace pipescope::workbench
