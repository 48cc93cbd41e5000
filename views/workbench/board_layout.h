#pragma once
// Places of the stages and their blocks on the board. A column is a device; its stages follow each other
// downwards. Columns that have no room beside the others begin another row.
#include <QFontMetrics>
#include <QRect>
#include <QSize>
#include <vector>

#include "views/workbench/stage_places.h"

namespace pipescope::workbench {

/// Sizes on the board in pixels.
struct BoardSizes {
  int wide = 0;  ///< of a column
  int pad = 8, gap = 10, card = 24, cardGap = 4, bar = 6, barGap = 4;
  friend bool operator==(const BoardSizes&, const BoardSizes&) = default;
};

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
  StageLayout(const StagePlaces& places, const QFontMetrics& metrics, int width, const BoardSizes& sizes);

  /// The sizes with which all stages are seen at once on a board of this size: the usual ones, or smaller
  /// ones in narrower columns. Where none suffice, the usual ones. While something is dragged, the sizes must
  /// stay, so that a stage which is put into a new column stays below the pointer.
  static BoardSizes sizesFor(const StagePlaces& places, const QFontMetrics& metrics, QSize board);

  const std::vector<StageColumn>& columns() const { return columns_; }
  const BoardSizes& sizes() const { return sizes_; }
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

  BoardSizes sizes_;
  std::vector<StageColumn> columns_;
  QRect newDevice_;
};

}  // namespace pipescope::workbench
