#include "views/timeline/wait_matrix.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

namespace pipescope::timeline {

using shell::Ui;

namespace {
constexpr int kMatrixHead = 22, kMatrixPad = 8, kTallCell = 28, kLowCell = 4, kTallMatrix = 560,
              kTallestCell = 60, kCellShape = 4, kWidestCell = 120, kNarrowCell = 6;

/// How many columns there are between two names of this width: 1, 2 or 5 times a power of ten.
int everyOf(int name, int column) {
  int every = 1;
  for (int i = 0; every * column < name; ++i) every = i % 3 == 1 ? every / 2 * 5 : every * 2;
  return every;
}

/// Broken at the blank that is nearest to the middle.
QString onTwoLines(QString name) {
  int best = -1;
  for (int at = name.indexOf(QLatin1Char(' ')); at >= 0; at = name.indexOf(QLatin1Char(' '), at + 1)) {
    if (best < 0 || std::abs(2 * at - name.size()) < std::abs(2 * best - name.size())) best = at;
  }
  return best < 0 ? name : name.replace(best, 1, QLatin1Char('\n'));
}
}  // namespace

WaitMatrix::WaitMatrix(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent), palette_(palette), labels_(font()) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Who waits for whom"));
  connect(&palette_, &shell::Palette::changed, this, qOverload<>(&QWidget::update));
}

void WaitMatrix::setMatrix(QStringList rows, QStringList columns, std::vector<WaitCell> cells) {
  rows_ = std::move(rows);
  columns_ = std::move(columns);
  heads_.clear();
  for (const QString& name : columns_) heads_ << onTwoLines(name);
  cells_ = std::move(cells);
  largest_ = 0;
  QStringList sentences;
  for (const WaitCell& cell : cells_) {
    largest_ = std::max(largest_, cell.share);
    sentences << cell.tip;
  }
  setAccessibleDescription(sentences.join(QLatin1Char(' ')));
  measureNames();
  updateGeometry();
  update();
}

void WaitMatrix::setMarked(int row) {
  if (row == marked_) return;
  marked_ = row;
  update();
}

/// The place of each cell depends on the widest name, so it is found once.
void WaitMatrix::measureNames() {
  widestName_ = 0;
  for (const QString& name : rows_)
    widestName_ = std::max(widestName_, fontMetrics().horizontalAdvance(name) + 2);
}

int WaitMatrix::nameWidth() const {
  // Names of recorded ranks may be long. The cells need two thirds of the room.
  return std::min(widestName_, std::max(mostNameWidth_, width() / 3)) + kMatrixPad;
}

void WaitMatrix::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) measureNames();
}

/// Many rows become lower, so that the whole matrix can be seen at once.
int WaitMatrix::leastCell() const {
  return std::clamp(kTallMatrix / std::max(1, static_cast<int>(rows_.size())), kLowCell, kTallCell);
}

int WaitMatrix::cellHeight() const {
  return std::max(leastCell(), grownCell_);
}
int WaitMatrix::headHeight() const {
  const bool two = std::any_of(heads_.begin(), heads_.end(),
                               [](const QString& head) { return head.contains(QLatin1Char('\n')); });
  return kMatrixHead + (two ? fontMetrics().lineSpacing() : 0);
}
int WaitMatrix::heightOf(int cell) const {
  return headHeight() + static_cast<int>(rows_.size()) * cell + 2;
}

shell::Growing::Heights WaitMatrix::heights() const {
  return {heightOf(leastCell()), heightOf(kTallestCell), heightOf(cellHeight())};
}

void WaitMatrix::growTo(int height) {
  const int rows = std::max(1, static_cast<int>(rows_.size()));
  const int cell = std::clamp((height - heightOf(0)) / rows, 0, kTallestCell);
  if (cell == grownCell_) return;
  grownCell_ = cell;
  updateGeometry();
  update();
}

QSize WaitMatrix::sizeHint() const {
  return {480, heightOf(cellHeight())};
}
QSize WaitMatrix::minimumSizeHint() const {
  return {220, sizeHint().height()};
}

QRect WaitMatrix::cellRect(int row, int column) const {
  const int count = std::max(1, static_cast<int>(columns_.size())), names = nameWidth();
  const int wide =
      std::clamp((width() - names) / count, kNarrowCell, std::max(kWidestCell, kCellShape * cellHeight()));
  return {names + column * wide, headHeight() + row * cellHeight(), wide, cellHeight()};
}

const WaitCell* WaitMatrix::cellAt(const QPoint& position) const {
  for (const WaitCell& cell : cells_) {
    if (cellRect(cell.row, cell.column).contains(position)) return &cell;
  }
  return nullptr;
}

void WaitMatrix::paintNames(QPainter& painter) const {
  painter.setFont(font());
  const int tall = cellHeight(), line = fontMetrics().height();
  // Where there is no room for all names, every second, third … is drawn.
  const int every = std::max(1, (line + tall - 1) / tall);
  for (int row = 0; row < rows_.size(); ++row) {
    if (row == marked_) painter.fillRect(0, cellRect(row, 0).y(), width(), tall, palette_.ui(Ui::selection));
    if (row % every != 0) continue;
    const QRect box(0, cellRect(row, 0).y() - (every > 1 ? (line - tall) / 2 : 0), nameWidth() - kMatrixPad,
                    std::max(tall, line));
    painter.setPen(palette_.ui(Ui::text));
    painter.drawText(box, Qt::AlignVCenter | Qt::AlignLeft,
                     fontMetrics().elidedText(rows_[row], Qt::ElideMiddle, box.width()));
  }
  painter.setPen(palette_.ui(Ui::muted));
  for (const int column : namedColumns())
    painter.drawText(headRect(column),
                     static_cast<int>(Qt::AlignHCenter | Qt::AlignBottom) | Qt::TextDontClip, heads_[column]);
}

/// The name of the last column may lie to its left.
QRect WaitMatrix::headRect(int column) const {
  constexpr int kBelow = 4;
  const int wide = fontMetrics().size(0, heads_[column]).width();
  QRect box(cellRect(0, column).center().x() - wide / 2, 0, wide, headHeight() - kBelow);
  if (box.right() >= width()) box.moveRight(width() - 1);
  return box;
}

std::vector<int> WaitMatrix::namedColumns() const {
  constexpr int kApart = 2;
  // The devices are numbered, so that some of their names may be left out. Others explain themselves only.
  const auto isOther = [&](int column) {
    return heads_[column].contains(QLatin1Char('\n')) || column + 1 == columns_.size();
  };
  int widest = 0;
  for (int column = 0; column < columns_.size(); ++column) {
    if (!isOther(column)) widest = std::max(widest, fontMetrics().size(0, heads_[column]).width());
  }
  const int every = everyOf(widest + kMatrixPad, std::max(1, cellRect(0, 0).width()));
  std::vector<int> named;
  const auto add = [&](int column) {
    const QRect box = headRect(column).adjusted(-kApart, 0, kApart, 0);
    if (std::none_of(named.begin(), named.end(), [&](int other) { return box.intersects(headRect(other)); }))
      named.push_back(column);
  };
  for (int column = static_cast<int>(columns_.size()) - 1; column >= 0; --column) {
    if (isOther(column)) add(column);
  }
  for (int column = 0; column < columns_.size(); column += every) {
    if (!isOther(column)) add(column);
  }
  std::sort(named.begin(), named.end());
  return named;
}

void WaitMatrix::paintCell(QPainter& painter, const WaitCell& cell) const {
  constexpr double kFaintest = 0.14;
  const QRect box = cellRect(cell.row, cell.column).adjusted(0, 0, -1, -1);
  const double strength = largest_ > 0 ? std::clamp(cell.share / largest_, kFaintest, 1.0) : kFaintest;
  const QColor colour = shell::Palette::mixed(palette_.colour(cell.role), palette_.ui(Ui::surface), strength);
  painter.fillRect(box, colour);
  const QFontMetrics metrics(labels_.font());
  if (metrics.height() > box.height() || metrics.horizontalAdvance(cell.label) + 4 > box.width()) return;
  painter.setPen(shell::Palette::textOn(colour));
  labels_.draw(painter, box, cell.label.toStdString(), false);
}

void WaitMatrix::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paintNames(painter);
  if (rows_.isEmpty() || columns_.isEmpty()) return;
  const QRect first = cellRect(0, 0),
              last = cellRect(static_cast<int>(rows_.size()) - 1, static_cast<int>(columns_.size()) - 1);
  painter.setPen(palette_.ui(Ui::grid));
  if (cellHeight() > kLowCell) {
    for (int row = 0; row <= rows_.size(); ++row)
      painter.drawLine(first.x(), cellRect(row, 0).y() - 1, last.right(), cellRect(row, 0).y() - 1);
  }
  for (const WaitCell& cell : cells_) paintCell(painter, cell);
}

void WaitMatrix::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  if (const WaitCell* cell = cellAt(event->pos())) Q_EMIT clicked(cell->row, cell->column);
}

bool WaitMatrix::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const WaitCell* cell = cellAt(help->pos());
  cell != nullptr ? QToolTip::showText(help->globalPos(), cell->tip, this, cellRect(cell->row, cell->column))
                  : QToolTip::hideText();
  return true;
}

}  // namespace pipescope::timeline
