#include "views/workbench/board_layout.h"

#include <algorithm>
#include <set>

namespace pipescope::workbench {
namespace {
constexpr int kGap = 10, kCard = 24, kCardGap = 4, kLeastHeight = 160, kLeastWidth = 200, kLeastDrop = 80;
}  // namespace

int StageLayout::columnWidth(int width) {
  constexpr int kNarrowest = 188, kWidest = 320, kBeside = 8;
  return std::clamp(width / kBeside, kNarrowest, kWidest);
}

StageLayout::StageLayout(const StagePlaces& places, const QFontMetrics& metrics, int width)
    : wide_(columnWidth(width)) {
  std::set<int> devices;
  for (const StagePlace& stage : places.stages) devices.insert(stage.device);
  const int head = 2 * kStagePad + metrics.lineSpacing();
  int x = kGap, top = 0, bottom = head;
  std::size_t first = 0;  // column of the present row
  const auto endRow = [&] {
    for (; first < columns_.size(); ++first) columns_[first].rect.setBottom(bottom - 1);
  };
  const auto fits = [&](int wide) { return x == kGap || x + wide + kGap <= width; };
  const auto nextRow = [&] {
    endRow();
    x = kGap, top = bottom, bottom = top + head;
  };
  for (const int device : devices) {
    if (!fits(wide_)) nextRow();
    StageColumn column;
    column.device = device;
    int y = top + head;
    for (std::size_t i = 0; i < places.stages.size(); ++i) {
      if (places.stages[i].device != device) continue;
      column.stages.push_back(boxFor(places.stages[i], static_cast<int>(i), QPoint(x, y), metrics));
      y = column.stages.back().rect.bottom() + 1 + kGap;
    }
    column.rect = QRect(x, top, wide_, y - top);
    bottom = std::max(bottom, y);
    columns_.push_back(std::move(column));
    x += wide_ + kGap;
  }
  if (!places.stages.empty() && whyFixed(places).isEmpty()) {
    // The stage that is put there needs a whole column, which must not lie elsewhere.
    if (!fits(wide_)) nextRow();
    newDevice_ = QRect(x, top + head, wide_ / 2, std::max(kLeastDrop, bottom - top - head - kGap));
    bottom = std::max(bottom, newDevice_.bottom() + 1);
  }
  endRow();
}

StageBox StageLayout::boxFor(const StagePlace& place, int stage, const QPoint& corner,
                             const QFontMetrics& metrics) const {
  const int line = metrics.lineSpacing(), inner = wide_ - 2 * kStagePad;
  const int figures = 2 * (line + 2 + kBarHeight + 4);
  StageBox box;
  box.stage = stage;
  box.head = QRect(corner + QPoint(kStagePad, kStagePad), QSize(inner, line));
  int y = box.head.bottom() + 1 + 4 + figures + 2;
  for (const QString& block : place.blocks) {
    box.cards.push_back({block, QRect(corner.x() + kStagePad, y, inner, kCard)});
    y += kCard + kCardGap;
  }
  box.rect = QRect(corner, QSize(wide_, y + kStagePad - kCardGap - corner.y()));
  return box;
}

QSize StageLayout::size() const {
  int right = kLeastWidth, bottom = kLeastHeight;
  for (const StageColumn& column : columns_) {
    right = std::max(right, column.rect.right() + kGap);
    bottom = std::max(bottom, column.rect.bottom());
  }
  if (!newDevice_.isEmpty()) {
    right = std::max(right, newDevice_.right() + kGap);
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
