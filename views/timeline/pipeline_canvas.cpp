#include "views/timeline/pipeline_canvas.h"

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
#include "views/timeline/page_wheel.h"
#include "views/timeline/pipeline_painter.h"

namespace pipescope::timeline {

using shell::Ui;

namespace {

constexpr int kLowest = 20, kHighest = 120, kFewestRows = 4, kPipelineMargin = 6, kFoot = 20;
/// Part of the length that is left free on both sides.
constexpr double kRoom = 0.01;

}  // namespace

PipelineCanvas::PipelineCanvas(const shell::Palette& palette, QWidget* parent)
    : QAbstractScrollArea(parent), palette_(palette), labels_(font()) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  setMinimumHeight(140);
  setAccessibleName(tr("Pipeline"));
  connect(&palette_, &shell::Palette::changed, this, [this] {
    stale_ = true;
    viewport()->update();
  });
}

void PipelineCanvas::setGrid(std::shared_ptr<const analysis::PipelineGrid> grid,
                             std::shared_ptr<const geometry::PipelineMarks> marks,
                             const geometry::TimeScale& scale) {
  grid_ = std::move(grid);
  marks_ = std::move(marks);
  hoveredMark_ = nullptr;
  scale_ = scale;
  selected_ = hovered_ = -1;
  layOut();
  zoomToAll();
  Q_EMIT selectionChanged();
}

void PipelineCanvas::setOptions(const geometry::PipelineOptions& options) {
  if (options == options_) return;
  const bool other = options.grid != options_.grid;
  options_ = options;
  layOut();
  if (other) zoomToAll();
}

void PipelineCanvas::layOut() {
  const int rows = grid_ ? std::max<int>(1, static_cast<int>(grid_->rows.size())) : 1;
  metrics_ = {};
  if (grid_ && grid_->firstFullColumn >= 0) metrics_.foot = kFoot;
  const int room = rowsHeight() - 2 * kPipelineMargin;
  // On a tall screen rows may be higher, but a few of them do not fill it.
  metrics_.row = std::clamp(room / rows - metrics_.gap, kLowest, std::max(kHighest, room / kFewestRows));
  if (metrics_.row == kLowest) metrics_.gap = 3;
  scene_ = geometry::PipelineScene(grid_, options_, metrics_, marks_);
  verticalScrollBar()->setPageStep(std::max(1, room));
  verticalScrollBar()->setRange(0, std::max(0, scene_.height() - room));
  verticalScrollBar()->setSingleStep(metrics_.row + metrics_.gap);
  stale_ = true;
  viewport()->update();
}

int PipelineCanvas::rowsWidth() const {
  return std::max(1, viewport()->width() - kGutter);
}
int PipelineCanvas::rowsHeight() const {
  return viewport()->height() - metrics_.top() - metrics_.foot;
}
int PipelineCanvas::top() const {
  return verticalScrollBar()->value() - kPipelineMargin;
}

/// The length of the iteration, or of the twin's if that is longer.
double PipelineCanvas::span() const {
  const auto own = static_cast<double>((scene_.end() - scene_.start()).count);
  if (twin_ == nullptr || !twin_->grid_) return own;
  return std::max(own,
                  static_cast<double>((twin_->scene_.end() - twin_->scene_.start()).count) * ticksOf(*twin_));
}

/// Ticks of this canvas in one tick of the twin. The columns of a table have no time.
double PipelineCanvas::ticksOf(const PipelineCanvas& twin) const {
  return options_.grid ? 1
                       : static_cast<double>(scale_.ticksPerSecond) /
                             static_cast<double>(std::max<std::int64_t>(1, twin.scale_.ticksPerSecond));
}

void PipelineCanvas::setTwin(PipelineCanvas* twin) {
  if (twin == twin_) return;
  if (twin_ != nullptr) {
    disconnect(twin_, nullptr, this, nullptr);
    disconnect(this, nullptr, twin_, nullptr);
    PipelineCanvas* former = twin_;
    twin_ = nullptr;
    former->setTwin(nullptr);
    zoomToAll();
  }
  twin_ = twin;
  if (twin == nullptr) return;
  connect(twin, &PipelineCanvas::viewChanged, this, &PipelineCanvas::followTwin);
  twin->setTwin(this);
  zoomToAll();
}

void PipelineCanvas::followTwin() {
  if (following_ || twin_ == nullptr || !grid_ || !twin_->grid_) return;
  const double ticks = ticksOf(*twin_);
  const auto moment = [&](base::Ticks time) {
    return scene_.start() +
           base::Ticks(std::llround(static_cast<double>((time - twin_->scene_.start()).count) * ticks));
  };
  const base::Ticks start = moment(twin_->view_.start());
  following_ = true;
  show(geometry::TimeView(start, std::max(moment(twin_->view_.end()), start + base::Ticks(1)), rowsWidth()));
  following_ = false;
}

void PipelineCanvas::show(geometry::TimeView view) {
  const double whole = span();
  const base::Ticks room(static_cast<std::int64_t>(std::ceil(whole * kRoom)));
  view.keepWithin(scene_.start() - room, scene_.start() + base::Ticks(std::llround(whole)) + room);
  if (view == view_) return;
  view_ = view;
  stale_ = true;
  viewport()->update();
  Q_EMIT viewChanged();
}

void PipelineCanvas::zoomToAll() {
  const double whole = span();
  const base::Ticks room(static_cast<std::int64_t>(std::ceil(whole * kRoom)));
  geometry::TimeView view(scene_.start() - room, scene_.start() + base::Ticks(std::llround(whole)) + room,
                          rowsWidth());
  // Cells of a table stay wide enough to be read, even if only a part of them fits then.
  if (options_.grid) {
    constexpr double kCell = 22;
    const double ticks = rowsWidth() / kCell * static_cast<double>(geometry::kColumnTicks);
    if (ticks < whole)
      view = geometry::TimeView(base::Ticks(0), base::Ticks(static_cast<std::int64_t>(ticks)), rowsWidth());
  }
  show(view);
}

std::function<void()> PipelineCanvas::showWhole(QWidget& frame) {
  const QSize size = frame.size();
  const geometry::TimeView view = view_;
  const int scrolled = verticalScrollBar()->value();
  frame.resize(size.width(), size.height() + verticalScrollBar()->maximum());
  frame.layout()->activate();
  const double whole = span();
  const base::Ticks room(static_cast<std::int64_t>(std::ceil(whole * kRoom)));
  show(geometry::TimeView(scene_.start() - room, scene_.start() + base::Ticks(std::llround(whole)) + room,
                          rowsWidth()));
  return [this, &frame, size, view, scrolled] {
    frame.resize(size);
    frame.layout()->activate();
    show(view);
    verticalScrollBar()->setValue(scrolled);
  };
}

void PipelineCanvas::zoomBy(double factor) {
  geometry::TimeView view = view_;
  const double x = pointer_.x() > kGutter ? pointer_.x() - kGutter : view.width() / 2.0;
  view.zoomAbout(x, factor, span() * (1 + 2 * kRoom));
  show(view);
}

void PipelineCanvas::select(int cell) {
  if (cell == selected_) return;
  selected_ = cell;
  reveal(cell);
  viewport()->update();
  Q_EMIT selectionChanged();
}

void PipelineCanvas::reveal(int cell) {
  if (cell < 0 || !grid_) return;
  const geometry::Box box = scene_.boxOf(view_, top(), cell);
  const int bottom = rowsHeight();
  if (box.y < 0) verticalScrollBar()->setValue(verticalScrollBar()->value() + box.y - kPipelineMargin);
  if (box.bottom() > bottom)
    verticalScrollBar()->setValue(verticalScrollBar()->value() + box.bottom() - bottom + kPipelineMargin);
  if (box.x >= 0 && box.right() <= view_.width()) return;
  geometry::TimeView view = view_;
  view.pan(box.x + box.width / 2.0 - view.width() / 2.0);
  show(view);
}

QRect PipelineCanvas::cellRect(int cell) const {
  const geometry::Box box = scene_.boxOf(view_, top(), cell);
  return {box.x + kGutter, box.y + metrics_.top(), box.width, box.height};
}

void PipelineCanvas::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layOut();
  geometry::TimeView view = view_;
  const bool all = view_.width() <= 1;
  view.setWidth(rowsWidth());
  all ? zoomToAll() : show(view);
}

void PipelineCanvas::scrollContentsBy(int, int) {
  stale_ = true;
  viewport()->update();
}

bool PipelineCanvas::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    hovered_ = -1;
    hoveredMark_ = nullptr;
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void PipelineCanvas::pointAt(const QPoint& position) {
  const int x = position.x() - kGutter, y = position.y() - metrics_.top();
  const bool onRows = x >= 0 && y >= 0 && y < rowsHeight();
  hovered_ = onRows ? scene_.cellAt(view_, top(), x, y) : -1;
  hoveredMark_ = onRows && hovered_ < 0 ? scene_.markAt(view_, top(), x, y) : nullptr;
}

/// After a zoom by key, another thing may be below the pointer.
void PipelineCanvas::forgetMoved() {
  const auto before = std::pair(hovered_, hoveredMark_);
  if (hovered_ < 0 && hoveredMark_ == nullptr) return;
  pointAt(pointer_);
  if (before == std::pair(hovered_, hoveredMark_)) return;
  hovered_ = -1;
  hoveredMark_ = nullptr;
}

void PipelineCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  if (!grid_) return painter.fillRect(viewport()->rect(), palette_.ui(Ui::surface));
  forgetMoved();
  const PipelinePainter::Content content{.palette = palette_,
                                         .labels = labels_,
                                         .grid = *grid_,
                                         .scene = scene_,
                                         .options = options_,
                                         .metrics = metrics_,
                                         .scale = scale_,
                                         .view = view_,
                                         .size = viewport()->size(),
                                         .top = top()};
  // A file with a drawing gets vectors, no pixels.
  if (painter.paintEngine()->type() == QPaintEngine::SVG) {
    PipelinePainter(content).paint(painter);
  } else {
    const double ratio = viewport()->devicePixelRatioF();
    const QSize size = viewport()->size() * ratio;
    if (stale_ || picture_.size() != size) {
      if (picture_.size() != size) picture_ = QPixmap(size);
      picture_.setDevicePixelRatio(ratio);
      QPainter drawing(&picture_);
      PipelinePainter(content).paint(drawing);
      stale_ = false;
    }
    painter.drawPixmap(0, 0, picture_);
  }
  paintOverlay(painter);
  if (hovered_ >= 0 && describe_ && !dragging_)
    paintCallout(painter, describe_(hovered_), pointer_, viewport()->rect(), labels_.font(), palette_);
  if (hoveredMark_ != nullptr && describeMark_ && !dragging_)
    paintCallout(painter, describeMark_(*hoveredMark_), pointer_, viewport()->rect(), labels_.font(),
                 palette_);
}

void PipelineCanvas::paintOverlay(QPainter& painter) const {
  painter.save();
  painter.setClipRect(kGutter, metrics_.top(), rowsWidth(), rowsHeight());
  painter.setBrush(Qt::NoBrush);
  if (hovered_ >= 0) {
    painter.setPen(palette_.ui(Ui::text));
    painter.drawRect(cellRect(hovered_).adjusted(0, 0, -1, -1));
  }
  if (selected_ >= 0) {
    QPen pen(palette_.ui(Ui::accent), 2);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.drawRect(cellRect(selected_));
  }
  painter.restore();
}

void PipelineCanvas::wheelEvent(QWheelEvent* event) {
  if (scrollsPage(*event, *this)) return event->ignore();
  pointer_ = event->position().toPoint();
  const QPoint turn = event->angleDelta();
  if (event->modifiers() & Qt::ControlModifier) {
    zoomBy(std::pow(1.25, turn.y() / 120.0));
  } else if ((event->modifiers() & Qt::ShiftModifier) || turn.x() != 0 ||
             verticalScrollBar()->maximum() == 0) {
    geometry::TimeView view = view_;
    view.pan(-(turn.x() != 0 ? turn.x() : turn.y()) / 120.0 * view.width() * 0.1);
    show(view);
  } else {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - turn.y() / 2);
  }
  event->accept();
}

void PipelineCanvas::mousePressEvent(QMouseEvent* event) {
  pressing_ = event->button() == Qt::LeftButton || event->button() == Qt::MiddleButton;
  pressed_ = event->pos();
  pressedView_ = view_;
}

void PipelineCanvas::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->pos();
  if (pressing_ && !dragging_ &&
      (event->pos() - pressed_).manhattanLength() >= QApplication::startDragDistance())
    dragging_ = true;
  if (dragging_) {
    geometry::TimeView view = pressedView_;
    view.pan(pressed_.x() - event->x());
    show(view);
  }
  pointAt(pointer_);
  viewport()->update();
}

void PipelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
  const bool click = pressing_ && !dragging_ && event->button() == Qt::LeftButton;
  pressing_ = dragging_ = false;
  const int x = event->x() - kGutter, y = event->y() - metrics_.top();
  if (click && x >= 0 && y >= 0 && y < rowsHeight()) select(scene_.cellAt(view_, top(), x, y));
}

void PipelineCanvas::mouseDoubleClickEvent(QMouseEvent*) {
  zoomToAll();
}

void PipelineCanvas::keyPressEvent(QKeyEvent* event) {
  const auto pan = [&](double part) {
    geometry::TimeView view = view_;
    view.pan(part * view.width());
    show(view);
  };
  const auto choose = [&](int cell) {
    if (cell >= 0) select(cell);
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
    case Qt::Key_Comma:
    case Qt::Key_Left:
      return choose(selected_ < 0 ? 0 : scene_.neighbour(selected_, -1));
    case Qt::Key_Period:
    case Qt::Key_Right:
      return choose(selected_ < 0 ? 0 : scene_.neighbour(selected_, 1));
    case Qt::Key_Up:
      return choose(scene_.alongPath(selected_, -1));
    case Qt::Key_Down:
      return choose(scene_.alongPath(selected_, 1));
    case Qt::Key_Escape:
      return select(-1);
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

}  // namespace pipescope::timeline
