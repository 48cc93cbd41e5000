#include "views/timeline/pipeline_canvas.h"

#include <algorithm>
#include <cmath>

#include "views/timeline/painters/pipeline_painter.h"

namespace pipescope::timeline {

namespace {

constexpr int kLowest = 20, kHighest = 120, kFewestRows = 4, kPipelineMargin = 6, kFoot = 20;
/// Part of the length that is left free on both sides.
constexpr double kRoom = 0.01;

}  // namespace

PipelineCanvas::PipelineCanvas(const shell::Palette& palette, QWidget* parent)
    : TimeCanvas(palette, kPipelineMargin, parent) {
  setMinimumHeight(140);
  setAccessibleName(tr("Pipeline"));
}

void PipelineCanvas::setGrid(std::shared_ptr<const analysis::PipelineGrid> grid,
                             std::shared_ptr<const geometry::PipelineMarks> marks,
                             const geometry::TimeScale& scale,
                             std::shared_ptr<const geometry::PipelineMarks> strips) {
  grid_ = std::move(grid);
  marks_ = std::move(marks);
  strips_ = std::move(strips);
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
  const int room = rowsArea().height() - 2 * kPipelineMargin;
  // Rows may be higher on a tall screen, but a few of them do not fill it.
  metrics_.row = std::clamp(room / rows - metrics_.gap, kLowest, std::max(kHighest, room / kFewestRows));
  if (metrics_.row == kLowest) metrics_.gap = 3;
  if (lit_ >= rows) lit_ = -1;
  scene_ = geometry::PipelineScene(grid_, options_, metrics_, marks_, strips_);
  setRowsHeight(scene_.height(), metrics_.row + metrics_.gap);
}

QRect PipelineCanvas::rowsArea() const {
  return {kGutter, metrics_.top(), rowsWidth(), viewport()->height() - metrics_.top() - metrics_.foot};
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

std::pair<base::Ticks, base::Ticks> PipelineCanvas::bounds() const {
  const double whole = span();
  const base::Ticks room(static_cast<std::int64_t>(std::ceil(whole * kRoom)));
  return {scene_.start() - room, scene_.start() + base::Ticks(std::llround(whole)) + room};
}

void PipelineCanvas::zoomToAll() {
  // Cells of a table stay wide enough to be read, even if only a part of them fits then.
  constexpr double kCell = 22;
  const double ticks = rowsWidth() / kCell * static_cast<double>(geometry::kColumnTicks);
  if (!options_.grid || ticks >= span()) return TimeCanvas::zoomToAll();
  show(geometry::TimeView(base::Ticks(0), base::Ticks(static_cast<std::int64_t>(ticks)), rowsWidth()));
}

void PipelineCanvas::select(int cell) {
  if (cell == selected_) return;
  selected_ = cell;
  reveal(cell);
  viewport()->update();
  Q_EMIT selectionChanged();
}

void PipelineCanvas::lightRow(int row) {
  if (row == lit_) return;
  lit_ = row;
  refresh();
  viewport()->update();
}

void PipelineCanvas::doubleClick(const std::optional<QPoint>& onRows) {
  const int cell = onRows ? scene_.cellAt(view_, top(), onRows->x(), onRows->y()) : -1;
  cell >= 0 ? Q_EMIT doubleClicked(cell) : zoomToAll();
}

void PipelineCanvas::contextMenuEvent(QContextMenuEvent* event) {
  const auto place = grid_ ? onRows(viewport()->mapFrom(this, event->pos())) : std::nullopt;
  const int cell = place ? scene_.cellAt(view_, top(), place->x(), place->y()) : -1;
  if (cell < 0) return event->ignore();
  select(cell);
  Q_EMIT menuWanted(cell, event->globalPos());
}

void PipelineCanvas::reveal(int cell) {
  if (cell < 0 || !grid_) return;
  const geometry::Box box = scene_.boxOf(view_, top(), cell);
  revealRows(box);
  if (box.x >= 0 && box.right() <= view_.width()) return;
  geometry::TimeView view = view_;
  view.pan(box.x + box.width / 2.0 - view.width() / 2.0);
  show(view);
}

QRect PipelineCanvas::cellRect(int cell) const {
  const geometry::Box box = scene_.boxOf(view_, top(), cell);
  return {box.x + kGutter, box.y + metrics_.top(), box.width, box.height};
}

// --- Painting ---

void PipelineCanvas::paintRows(QPainter& painter) const {
  PipelinePainter({.palette = palette_,
                   .labels = labels_,
                   .grid = *grid_,
                   .scene = scene_,
                   .options = options_,
                   .metrics = metrics_,
                   .scale = scale_,
                   .view = view_,
                   .size = viewport()->size(),
                   .top = top(),
                   .lit = lit_})
      .paint(painter);
}

std::optional<QRect> PipelineCanvas::hoveredBox() const {
  if (hovered_ < 0) return std::nullopt;
  return cellRect(hovered_);
}

std::optional<QRect> PipelineCanvas::selectedBox() const {
  if (selected_ < 0) return std::nullopt;
  return cellRect(selected_);
}

QStringList PipelineCanvas::callout() const {
  if (hovered_ >= 0 && describe_) return describe_(hovered_);
  return hoveredMark_ != nullptr && describeMark_ ? describeMark_(*hoveredMark_) : QStringList();
}

// --- The pointer and the keyboard ---

bool PipelineCanvas::pointAt(const std::optional<QPoint>& onRows) {
  const auto before = std::pair(hovered_, hoveredMark_);
  hovered_ = onRows ? scene_.cellAt(view_, top(), onRows->x(), onRows->y()) : -1;
  hoveredMark_ = onRows && hovered_ < 0 ? scene_.markAt(view_, top(), onRows->x(), onRows->y()) : nullptr;
  return before != std::pair(hovered_, hoveredMark_);
}

void PipelineCanvas::click(const QPoint& onRows) {
  select(scene_.cellAt(view_, top(), onRows.x(), onRows.y()));
}

bool PipelineCanvas::pressKey(int key) {
  const auto choose = [&](int cell) {
    if (cell >= 0) select(cell);
    return true;
  };
  switch (key) {
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
      select(-1);
      return true;
    default:
      return false;
  }
}

}  // namespace pipescope::timeline
