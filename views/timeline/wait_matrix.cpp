#include "views/timeline/wait_matrix.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QToolTip>
#include <algorithm>

#include "views/timeline/chart_keys.h"

namespace pipescope::timeline {

using shell::Ui;

namespace {
constexpr int kMatrixHead = 22, kMostHead = 160, kMatrixPad = 8, kTallCell = 28, kLowCell = 4,
              kTallMatrix = 560, kTallestCell = 60, kCellShape = 4, kWidestCell = 240, kWidestPart = 8,
              kNarrowCell = 6;

/// Returns the columns from one name of this width to the next: 1, 2 or 5 times a power of ten.
int everyOf(int name, int column) {
  int every = 1;
  for (int i = 0; every * column < name; ++i) every = i % 3 == 1 ? every / 2 * 5 : every * 2;
  return every;
}

/// True for "IPU3" and "3": neighbours of such names can be guessed.
bool isNumber(const QString& name) {
  static const QRegularExpression number(QStringLiteral("^[^\\s\\d]*\\d+$"));
  return number.match(name).hasMatch();
}

/// Breaks a name at the blank that is nearest to the middle.
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
  setFocusPolicy(Qt::StrongFocus);
  connect(&palette_, &shell::Palette::changed, this, qOverload<>(&QWidget::update));
}

void WaitMatrix::setMatrix(QStringList rows, QStringList columns, std::vector<WaitCell> cells) {
  rows_ = std::move(rows);
  columns_ = std::move(columns);
  cells_ = std::move(cells);
  largest_ = 0;
  QStringList sentences;
  for (const WaitCell& cell : cells_) {
    largest_ = std::max(largest_, cell.share);
    sentences << cell.tip;
  }
  setAccessibleDescription(sentences.join(QLatin1Char(' ')));
  shortRows_ = shortNames(rows_);
  shortColumns_ = shortNames(columns_);
  heads_.clear();
  for (const QString& name : columns_) heads_ << onTwoLines(name);
  arrange();
  updateGeometry();
  update();
}

void WaitMatrix::setMarked(int row) {
  if (row == marked_) return;
  marked_ = row;
  update();
}

int WaitMatrix::widthOf(const QStringList& names) const {
  int widest = 0;
  for (const QString& name : names) widest = std::max(widest, fontMetrics().horizontalAdvance(name) + 2);
  return widest;
}

/// Finds the room of the names and cells, which depends on the width and on the widest names. Names of
/// recorded ranks may be long, but the cells need two thirds of the room. Numbers that are left out ("IPU3")
/// can be guessed from their neighbours, names cannot: these are set upright if they have no room side by
/// side.
void WaitMatrix::arrange() {
  const int most = std::max(mostNameWidth_, width() / 3), full = widthOf(rows_);
  hasShortRows_ = full > most;
  nameWidth_ = std::min(hasShortRows_ ? widthOf(shortRows_) : full, most) + kMatrixPad;
  const int count = std::max(1, static_cast<int>(columns_.size()));
  cellWidth_ = std::clamp((width() - nameWidth_) / count, kNarrowCell,
                          std::max({kWidestCell, width() / kWidestPart, kCellShape * cellHeight()}));
  const int room = cellWidth_ - kMatrixPad;
  const bool isNumbered = !columns_.isEmpty() && isNumber(columns_.front());
  heading_ = isNumbered                       ? Heading::numbered
             : widthOf(columns_) <= room      ? Heading::across
             : widthOf(shortColumns_) <= room ? Heading::acrossShort
                                              : Heading::upright;
  const bool two = heading_ == Heading::numbered &&
                   std::any_of(heads_.begin(), heads_.end(),
                               [](const QString& head) { return head.contains(QLatin1Char('\n')); });
  const int head = heading_ == Heading::upright ? std::min(widthOf(shortColumns_), kMostHead) + kMatrixPad
                                                : kMatrixHead + (two ? fontMetrics().lineSpacing() : 0);
  if (head == head_) return;
  head_ = head;
  updateGeometry();
}

const QStringList& WaitMatrix::rowNames() const {
  return hasShortRows_ ? shortRows_ : rows_;
}

const QStringList& WaitMatrix::columnNames() const {
  if (heading_ == Heading::numbered) return heads_;
  return heading_ == Heading::across ? columns_ : shortColumns_;
}

void WaitMatrix::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) arrange();
}

void WaitMatrix::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

/// Many rows become lower, so that the whole matrix can be seen at once.
int WaitMatrix::leastCell() const {
  return std::clamp(kTallMatrix / std::max(1, static_cast<int>(rows_.size())), kLowCell, kTallCell);
}

int WaitMatrix::cellHeight() const {
  return std::max(leastCell(), grownCell_);
}
int WaitMatrix::heightOf(int cell) const {
  return head_ + static_cast<int>(rows_.size()) * cell + 2;
}

shell::Growing::Heights WaitMatrix::heights() const {
  return {heightOf(leastCell()), heightOf(kTallestCell), heightOf(cellHeight())};
}

void WaitMatrix::growTo(int height) {
  const int rows = std::max(1, static_cast<int>(rows_.size()));
  const int cell = std::clamp((height - heightOf(0)) / rows, 0, kTallestCell);
  if (cell == grownCell_) return;
  grownCell_ = cell;
  arrange();
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
  return {nameWidth_ + column * cellWidth_, head_ + row * cellHeight(), cellWidth_, cellHeight()};
}

const WaitCell* WaitMatrix::cellAt(const QPoint& position) const {
  for (const WaitCell& cell : cells_) {
    if (cellRect(cell.row, cell.column).contains(position)) return &cell;
  }
  return nullptr;
}

void WaitMatrix::paintRowNames(QPainter& painter) const {
  const QStringList& names = rowNames();
  const int tall = cellHeight(), line = fontMetrics().height();
  // Only every second, third … name is drawn if there is no room for all names.
  const int every = std::max(1, (line + tall - 1) / tall);
  for (int row = 0; row < names.size(); ++row) {
    if (row == marked_) painter.fillRect(0, cellRect(row, 0).y(), width(), tall, palette_.ui(Ui::selection));
    if (row % every != 0) continue;
    const QRect box(0, cellRect(row, 0).y() - (every > 1 ? (line - tall) / 2 : 0), nameWidth_ - kMatrixPad,
                    std::max(tall, line));
    painter.setPen(palette_.ui(Ui::text));
    painter.drawText(box, Qt::AlignVCenter | Qt::AlignLeft,
                     fontMetrics().elidedText(names[row], Qt::ElideMiddle, box.width()));
  }
}

/// Some of the numbers may be left out. Words explain themselves only.
std::vector<std::pair<int, QRect>> WaitMatrix::numberedBoxes() const {
  constexpr int kBelow = 4, kApart = 2;
  const auto isWord = [&](int column) {
    return heads_[column].contains(QLatin1Char('\n')) || !isNumber(columns_[column]);
  };
  int widest = 0;
  for (int column = 0; column < columns_.size(); ++column) {
    if (!isWord(column)) widest = std::max(widest, fontMetrics().horizontalAdvance(heads_[column]));
  }
  const int every = everyOf(widest + kMatrixPad, std::max(1, cellWidth_));
  std::vector<std::pair<int, QRect>> boxes;
  const auto add = [&](int column) {
    const int wide = fontMetrics().size(0, heads_[column]).width();
    QRect box(cellRect(0, column).center().x() - wide / 2, 0, wide, head_ - kBelow);
    if (box.right() >= width()) box.moveRight(width() - 1);
    const QRect around = box.adjusted(-kApart, 0, kApart, 0);
    const bool covers = std::any_of(boxes.begin(), boxes.end(),
                                    [&](const auto& other) { return around.intersects(other.second); });
    if (!covers) boxes.emplace_back(column, box);
  };
  for (int column = static_cast<int>(columns_.size()) - 1; column >= 0; --column) {
    if (isWord(column)) add(column);
  }
  for (int column = 0; column < columns_.size(); column += every) {
    if (!isWord(column)) add(column);
  }
  std::sort(boxes.begin(), boxes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return boxes;
}

std::vector<std::pair<int, QRect>> WaitMatrix::columnBoxes() const {
  if (heading_ == Heading::numbered) return numberedBoxes();
  const QStringList& names = columnNames();
  std::vector<std::pair<int, QRect>> boxes;
  const bool upright = heading_ == Heading::upright;
  const int each = upright ? fontMetrics().height() : widthOf(names) + kMatrixPad;
  const int every = everyOf(each, cellWidth_);
  int free = 0;
  for (int column = 0; column < names.size(); ++column) {
    // The last column may be the host.
    if (column % every != 0 && column + 1 < names.size()) continue;
    const QRect cell = cellRect(0, column);
    const int wide = upright ? fontMetrics().height() : fontMetrics().horizontalAdvance(names[column]);
    QRect box(cell.center().x() - wide / 2, 0, wide, head_);
    if (box.right() >= width()) box.moveRight(width() - 1);
    if (box.x() < free) continue;  // the last one, moved to the left, would lie on the name before it
    free = box.right() + (upright ? 1 : kMatrixPad);
    boxes.emplace_back(column, box);
  }
  return boxes;
}

QStringList WaitMatrix::drawnColumns() const {
  QStringList drawn;
  for (const auto& [column, box] : columnBoxes()) drawn << columnNames()[column];
  return drawn;
}

void WaitMatrix::paintColumnNames(QPainter& painter) const {
  const QStringList& names = columnNames();
  const bool upright = heading_ == Heading::upright;
  painter.setPen(palette_.ui(Ui::muted));
  for (const auto& [column, box] : columnBoxes()) {
    if (!upright) {
      const Qt::Alignment vertical = heading_ == Heading::numbered ? Qt::AlignBottom : Qt::AlignVCenter;
      painter.drawText(box, static_cast<int>(Qt::AlignHCenter | vertical) | Qt::TextDontClip, names[column]);
      continue;
    }
    painter.save();
    painter.translate(box.left(), box.bottom());
    painter.rotate(-90);
    const QRect line(kMatrixPad / 2, 0, head_ - kMatrixPad, box.width());
    painter.drawText(line, static_cast<int>(Qt::AlignVCenter | Qt::AlignLeft) | Qt::TextDontClip,
                     fontMetrics().elidedText(names[column], Qt::ElideMiddle, line.width()));
    painter.restore();
  }
}

void WaitMatrix::paintCell(QPainter& painter, const WaitCell& cell) const {
  constexpr double kFaintest = 0.14, kNothing = 0.05;
  const QRect box = cellRect(cell.row, cell.column).adjusted(0, 0, -1, -1);
  // Shares that would be written as nothing are hardly tinted, so that small ones can be told from them.
  constexpr double kLeastShown = 0.005;
  const double strength = cell.share < kLeastShown ? kNothing
                          : largest_ > 0           ? std::clamp(cell.share / largest_, kFaintest, 1.0)
                                                   : kFaintest;
  const QColor colour = shell::Palette::mixed(palette_.colour(cell.role), palette_.ui(Ui::surface), strength);
  painter.fillRect(box, colour);
  const QFontMetrics metrics(labels_.font());
  if (metrics.height() > box.height() || metrics.horizontalAdvance(cell.label) + 8 > box.width()) return;
  painter.setPen(shell::Palette::textOn(colour));
  labels_.draw(painter, box, cell.label.toStdString(), false);
}

void WaitMatrix::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(font());
  paintRowNames(painter);
  paintColumnNames(painter);
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

void WaitMatrix::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const WaitCell* cell = cellAt(event->pos())) Q_EMIT doubleClicked(cell->row);
}

void WaitMatrix::contextMenuEvent(QContextMenuEvent* event) {
  if (event->reason() == QContextMenuEvent::Keyboard && marked_ >= 0)
    return Q_EMIT menuWanted(marked_, mapToGlobal(cellRect(marked_, 0).center()));
  const WaitCell* cell = cellAt(event->pos());
  cell != nullptr ? Q_EMIT menuWanted(cell->row, event->globalPos()) : event->ignore();
}

/// A row is chosen by its cell with the largest share.
void WaitMatrix::keyPressEvent(QKeyEvent* event) {
  const auto next = itemOfKey(*event, marked_, static_cast<int>(rows_.size()));
  if (!next) {
    if (isEnter(*event) && marked_ >= 0) return Q_EMIT doubleClicked(marked_);
    return QWidget::keyPressEvent(event);
  }
  const WaitCell* largest = nullptr;
  for (const WaitCell& cell : cells_)
    if (cell.row == *next && (largest == nullptr || cell.share > largest->share)) largest = &cell;
  if (largest != nullptr) Q_EMIT clicked(largest->row, largest->column);
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
