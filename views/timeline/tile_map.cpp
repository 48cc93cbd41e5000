#include "views/timeline/tile_map.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

namespace pipescope::timeline {

using shell::Ui;

namespace {
constexpr int kName = 18, kTileMapGap = 14, kScale = 34, kTileMapMargin = 6, kLargest = 16;
/// A column of an IPU's die has so many tiles, and an island two rows of two.
constexpr int kColumnTiles = 64, kIslandTiles = 4, kIslandSide = 2,
              kColumnIslands = kColumnTiles / kIslandTiles;

int gapOfColumns(int wide) {
  return wide >= 4 ? 3 : wide >= 2 ? 1 : 0;
}
int gapOfIslands(int high) {
  return high >= 5 ? 2 : 0;
}
}  // namespace

QSize TileMap::Part::size() const {
  if (die)
    return {columns * kIslandSide * cell + (columns - 1) * columnGap,
            kColumnIslands * kIslandSide * cellHigh + (kColumnIslands - 1) * islandGap};
  return {columns * cell, (units() + columns - 1) / std::max(1, columns) * cellHigh};
}

QRect TileMap::Part::rectOf(int number) const {
  QPoint place(number % columns * cell, number / columns * cellHigh);
  if (die) {
    const int column = number / kColumnTiles, island = number % kColumnTiles / kIslandTiles,
              tile = number % kIslandTiles;
    place = {column * (kIslandSide * cell + columnGap) + tile % kIslandSide * cell,
             island * (kIslandSide * cellHigh + islandGap) + tile / kIslandSide * cellHigh};
  }
  return {area.topLeft() + place, QSize(cell, cellHigh)};
}

/// Gives a part the largest cells with which it fits into this room. Those of a die need not be squares.
TileMap::Part TileMap::sized(Part part, int wide, int high) const {
  part.die = part.units() >= 2 * kColumnTiles && part.units() % kColumnTiles == 0;
  const auto fit = [&](int cell, int cellHigh) {
    part.cell = cell;
    part.cellHigh = cellHigh;
    part.columns = part.die ? part.units() / kColumnTiles : std::max(1, wide / cell);
    part.columnGap = gapOfColumns(cell);
    part.islandGap = gapOfIslands(cellHigh);
    return part.size().width() <= wide && part.size().height() <= high;
  };
  for (int cell = kLargest; cell > 1; --cell) {
    for (int cellHigh = part.die ? std::min(kLargest, 2 * cell) : cell; cellHigh > 1; --cellHigh) {
      if (fit(cell, cellHigh)) return part;
      if (!part.die) break;
    }
  }
  fit(1, 1);
  return part;
}

TileMap::TileMap(const shell::Palette& palette, QWidget* parent)
    : QWidget(parent), palette_(palette), labels_(font()) {
  setMouseTracking(true);
  setMinimumHeight(170);
  setAccessibleName(tr("Tile map"));
  connect(&palette_, &shell::Palette::changed, this, qOverload<>(&QWidget::update));
}

void TileMap::setUnits(std::vector<std::int64_t> bytes, std::vector<std::pair<int, QString>> breaks) {
  bytes_ = std::move(bytes);
  parts_.clear();
  const int count = static_cast<int>(bytes_.size());
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    const int end = i + 1 < breaks.size() ? breaks[i + 1].first : count;
    if (end > breaks[i].first) parts_.push_back({breaks[i].first, end, breaks[i].second, {}});
  }
  layOut();
  update();
}

void TileMap::setScale(std::int64_t low, std::int64_t high) {
  low_ = low;
  high_ = std::max(high, low + 1);
  update();
}

void TileMap::setNames(QString low, QString high) {
  lowName_ = std::move(low);
  highName_ = std::move(high);
  update();
}

void TileMap::setSelected(std::vector<int> units) {
  selected_ = std::move(units);
  update();
}

void TileMap::setLit(int part) {
  if (part == lit_) return;
  lit_ = part;
  update();
}

/// Places the devices in as many lines as give the largest cells.
void TileMap::layOut() {
  const int parts = static_cast<int>(parts_.size());
  if (parts == 0) return;
  const auto largest = std::ranges::max_element(parts_, {}, [](const Part& part) { return part.units(); });
  int bestCell = 0, bestAcross = 1;
  const auto wideOf = [&](int across) {
    return (width() - 2 * kTileMapMargin - (across - 1) * kTileMapGap) / across;
  };
  const auto highOf = [&](int across) {
    return (height() - kScale - kTileMapMargin) / ((parts + across - 1) / across);
  };
  for (int across = 1; across <= parts; ++across) {
    if (wideOf(across) <= 0 || highOf(across) <= kName) continue;
    const Part part = sized(*largest, wideOf(across), highOf(across) - kName);
    if (const int cell = part.cell * part.cellHigh; cell > bestCell) bestCell = cell, bestAcross = across;
  }
  const int wide = std::max(1, wideOf(bestAcross)), high = std::max(1, highOf(bestAcross));
  for (int i = 0; i < parts; ++i) {
    Part& part = parts_[static_cast<std::size_t>(i)];
    part = sized(part, wide, std::max(1, high - kName));
    part.area = QRect(kTileMapMargin + (i % bestAcross) * (wide + kTileMapGap),
                      kTileMapMargin / 2 + (i / bestAcross) * high + kName, wide, high - kName);
  }
}

QRect TileMap::unitRect(int unit) const {
  for (const Part& part : parts_) {
    if (unit < part.first || unit >= part.end) continue;
    return part.rectOf(unit - part.first);
  }
  return {};
}

int TileMap::unitAt(const QPoint& position) const {
  for (const Part& part : parts_) {
    if (!QRect(part.area.topLeft(), part.size()).contains(position)) continue;
    for (int number = 0; number < part.units(); ++number) {
      if (part.rectOf(number).contains(position)) return part.first + number;
    }
  }
  return -1;
}

QColor TileMap::colourOf(std::int64_t bytes) const {
  if (bytes > high_) return palette_.ui(Ui::error);
  const double share =
      std::clamp(static_cast<double>(bytes - low_) / static_cast<double>(high_ - low_), 0.0, 1.0);
  return shell::Palette::mixed(palette_.ui(Ui::accent), palette_.ui(Ui::hover), 0.06 + 0.94 * share);
}

void TileMap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette_.ui(Ui::surface));
  painter.setFont(labels_.font());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const bool lit = static_cast<int>(i) == lit_;
    const QRect name(part.area.x(), part.area.y() - kName, part.area.width(), kName);
    if (lit) painter.fillRect(name.adjusted(0, kName - 3, 0, -1), palette_.ui(Ui::accent));
    painter.setPen(palette_.ui(lit ? Ui::accent : Ui::muted));
    painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter, part.name);
    const int gap = part.cell >= 4 ? 1 : 0;
    for (int unit = part.first; unit < part.end; ++unit) {
      const QRect cell = part.rectOf(unit - part.first);
      painter.fillRect(cell.adjusted(0, 0, -gap, -gap), colourOf(bytes_[static_cast<std::size_t>(unit)]));
    }
  }
  painter.setPen(QPen(palette_.ui(Ui::text), 2));
  for (const int unit : selected_) painter.drawRect(unitRect(unit).adjusted(0, 0, -1, -1));
  // Paints the scale from the lowest to the highest value, then the colour of values above it.
  const int y = height() - 24, wide = 180, x = kTileMapMargin;
  for (int i = 0; i < wide; ++i)
    painter.fillRect(x + i, y, 1, 10, colourOf(low_ + (high_ - low_) * i / wide));
  painter.fillRect(x + wide + 4, y, 14, 10, palette_.ui(Ui::error));
  painter.setPen(palette_.ui(Ui::muted));
  painter.drawText(QRect(x, y + 10, wide / 2, 14), Qt::AlignLeft | Qt::AlignVCenter, lowName_);
  painter.drawText(QRect(x + wide / 2, y + 10, wide / 2, 14), Qt::AlignRight | Qt::AlignVCenter, highName_);
  painter.drawText(QRect(x + wide + 22, y - 4, 120, 18), Qt::AlignLeft | Qt::AlignVCenter,
                   tr("above the scale"));
}

void TileMap::resizeEvent(QResizeEvent*) {
  layOut();
}

void TileMap::mouseMoveEvent(QMouseEvent* event) {
  Q_EMIT hovered(unitAt(event->pos()));
}

void TileMap::mouseReleaseEvent(QMouseEvent* event) {
  const int unit = unitAt(event->pos());
  if (event->button() == Qt::LeftButton && unit >= 0)
    Q_EMIT clicked(unit, event->modifiers() & Qt::ShiftModifier);
}

void TileMap::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const int unit = unitAt(event->pos()); unit >= 0) Q_EMIT doubleClicked(unit);
}

void TileMap::contextMenuEvent(QContextMenuEvent* event) {
  const int unit = unitAt(event->pos());
  unit >= 0 ? Q_EMIT menuWanted(unit, event->globalPos()) : event->ignore();
}

void TileMap::leaveEvent(QEvent*) {
  Q_EMIT hovered(-1);
}

}  // namespace pipescope::timeline
