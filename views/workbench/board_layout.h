#pragma once
// Places of the stages and their blocks on the board. A column is a device; its stages follow each other
// downwards. Columns that have no room beside the others begin another row.
#include <QFontMetrics>
#include <QRect>
#include <QSize>
#include <vector>

#include "views/workbench/stage_places.h"

namespace pipescope::workbench {

inline constexpr int kStagePad = 8, kBarHeight = 6;

struct StageCard {
  QString block;
  QRect rect;
};
struct StageBox {
  int stage = 0;
  QRect rect, head;
  std::vector<StageCard> cards;
};
struct StageColumn {
  int device = 0;
  QRect rect;
  std::vector<StageBox> stages;
};

class StageLayout {
 public:
  StageLayout() = default;
  /// `width`: of the board.
  StageLayout(const StagePlaces& places, const QFontMetrics& metrics, int width);

  const std::vector<StageColumn>& columns() const { return columns_; }
  /// The width of a column on a board of this width. It does not depend on the number of columns, so that a
  /// stage which is put into a new one stays below the pointer.
  static int columnWidth(int width);
  /// Place that gives a block a stage and a device of its own; empty: blocks cannot be moved.
  QRect newDevice() const { return newDevice_; }
  QSize size() const;
  const StageBox* boxAt(const QPoint& at) const;
  const StageBox* boxOf(int stage) const;
  QRect cardRect(const QString& block) const;
  /// The device of the column; −1: there is none.
  int deviceAt(const QPoint& at) const;

 private:
  StageBox boxFor(const StagePlace& place, int stage, const QPoint& corner,
                  const QFontMetrics& metrics) const;

  int wide_ = 0;
  std::vector<StageColumn> columns_;
  QRect newDevice_;
};

}  // namespace pipescope::workbench
