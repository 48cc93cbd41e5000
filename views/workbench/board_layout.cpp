#include "views/workbench/board_layout.h"

#include <algorithm>
#include <set>

namespace pipescope::workbench {
namespace {
constexpr int kLeastHeight = 160, kLeastWidth = 200, kLeastDrop = 80;

/// The sizes with room around everything. The width does not depend on the number of columns.
BoardSizes usualSizes(int width) {
  constexpr int kNarrowest = 188, kWidest = 320, kBeside = 8;
  BoardSizes sizes;
  sizes.wide = std::clamp(width / kBeside, kNarrowest, kWidest);
  return sizes;
}

}  // namespace

BoardSizes StageLayout::sizesFor(const StagePlaces& places, const QFontMetrics& metrics, QSize board) {
  constexpr int kNarrowest = 112;
  const BoardSizes usual = usualSizes(board.width());
  const auto fits = [&](const BoardSizes& sizes) {
    return StageLayout(places, metrics, board.width(), sizes).size().height() <= board.height();
  };
  if (fits(usual)) return usual;
  BoardSizes dense{
      .pad = 5, .gap = 6, .card = metrics.lineSpacing() + 3, .cardGap = 2, .bar = 4, .barGap = 2};
  for (int columns = 1;; ++columns) {
    dense.wide = (board.width() - dense.gap) / columns - dense.gap;
    if (dense.wide > usual.wide) continue;
    if (dense.wide < kNarrowest) return usual;
    if (fits(dense)) return dense;
  }
}

StageLayout::StageLayout(const StagePlaces& places, const QFontMetrics& metrics, int width,
                         const BoardSizes& sizes)
    : sizes_(sizes) {
  std::set<int> devices;
  for (const StagePlace& stage : places.stages) devices.insert(stage.device);
  const int head = 2 * sizes_.pad + metrics.lineSpacing();
  int x = sizes_.gap, top = 0, bottom = head;
  std::size_t first = 0;  // column of the present row
  const auto endRow = [&] {
    for (; first < columns_.size(); ++first) columns_[first].rect.setBottom(bottom - 1);
  };
  const auto fits = [&](int wide) { return x == sizes_.gap || x + wide + sizes_.gap <= width; };
  const auto nextRow = [&] {
    endRow();
    x = sizes_.gap, top = bottom, bottom = top + head;
  };
  for (const int device : devices) {
    if (!fits(sizes_.wide)) nextRow();
    StageColumn column;
    column.device = device;
    int y = top + head;
    for (std::size_t i = 0; i < places.stages.size(); ++i) {
      if (places.stages[i].device != device) continue;
      column.stages.push_back(boxFor(places.stages[i], static_cast<int>(i), QPoint(x, y), metrics));
      y = column.stages.back().rect.bottom() + 1 + sizes_.gap;
    }
    column.rect = QRect(x, top, sizes_.wide, y - top);
    bottom = std::max(bottom, y);
    columns_.push_back(std::move(column));
    x += sizes_.wide + sizes_.gap;
  }
  if (!places.stages.empty() && whyFixed(places).isEmpty()) {
    // The stage that is put there needs a whole column, which must not lie elsewhere.
    if (!fits(sizes_.wide)) nextRow();
    newDevice_ =
        QRect(x, top + head, sizes_.wide / 2, std::max(kLeastDrop, bottom - top - head - sizes_.gap));
    bottom = std::max(bottom, newDevice_.bottom() + 1);
  }
  endRow();
}

StageBox StageLayout::boxFor(const StagePlace& place, int stage, const QPoint& corner,
                             const QFontMetrics& metrics) const {
  const int line = metrics.lineSpacing(), inner = sizes_.wide - 2 * sizes_.pad;
  const int figures = 2 * (line + 2 + sizes_.bar + sizes_.barGap);
  StageBox box;
  box.stage = stage;
  box.head = QRect(corner + QPoint(sizes_.pad, sizes_.pad), QSize(inner, line));
  int y = box.head.bottom() + 1 + 4 + figures + 2;
  for (const QString& block : place.blocks) {
    box.cards.push_back({block, QRect(corner.x() + sizes_.pad, y, inner, sizes_.card)});
    y += sizes_.card + sizes_.cardGap;
  }
  box.rect = QRect(corner, QSize(sizes_.wide, y + sizes_.pad - sizes_.cardGap - corner.y()));
  return box;
}

QSize StageLayout::size() const {
  int right = kLeastWidth, bottom = kLeastHeight;
  for (const StageColumn& column : columns_) {
    right = std::max(right, column.rect.right() + sizes_.gap);
    bottom = std::max(bottom, column.rect.bottom());
  }
  if (!newDevice_.isEmpty()) {
    right = std::max(right, newDevice_.right() + sizes_.gap);
    bottom = std::max(bottom, newDevice_.bottom());
  }
  return {right, bottom};
}

const StageBox* StageLayout::boxOf(int stage) const {
  for (const StageColumn& column : columns_) {
    for (const StageBox& box : column.stages) {
      if (box.stage == stage) return &box;
    }
  }
  return nullptr;
}

const StageBox* StageLayout::boxAt(const QPoint& at) const {
  for (const StageColumn& column : columns_) {
    for (const StageBox& box : column.stages) {
      if (box.rect.contains(at)) return &box;
    }
  }
  return nullptr;
}

QRect StageLayout::cardRect(const QString& block) const {
  for (const StageColumn& column : columns_) {
    for (const StageBox& box : column.stages) {
      for (const StageCard& card : box.cards) {
        if (card.block == block) return card.rect;
      }
    }
  }
  return {};
}

int StageLayout::deviceAt(const QPoint& at) const {
  for (const StageColumn& column : columns_) {
    if (column.rect.contains(at)) return column.device;
  }
  return -1;
}

}  // namespace pipescope::workbench
