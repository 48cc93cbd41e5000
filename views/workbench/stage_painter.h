#pragma once
// Paints the stages of the board.
#include <QFont>
#include <QPainter>
#include <optional>

#include "views/workbench/board_layout.h"

namespace pipescope::shell {
class Palette;
}

namespace pipescope::workbench {

/// Content of the picture.
struct StagePicture {
  const StageLayout& layout;
  const std::optional<Prediction>&prediction, &before;
  bool pending = false;  ///< the figures are old
  QString marked;        ///< the block that has the keyboard; empty: none
  QString held;          ///< the block that is dragged; empty: none
  bool dragging = false;
  QPoint pointer;
};

class StagePainter {
 public:
  StagePainter(QPainter& painter, const shell::Palette& palette, const QFont& font,
               const StagePicture& picture)
      : painter_(painter), palette_(palette), font_(font), picture_(picture) {}
  void paint() const;

 private:
  void paintStage(const StageBox& box) const;
  void paintFigures(const StageBox& box, const PredictedStage& stage) const;
  void paintCard(const QString& block, const QRect& rect, bool lifted) const;
  void paintNewDevice() const;

  QPainter& painter_;
  const shell::Palette& palette_;
  const QFont& font_;
  const StagePicture& picture_;
};

}  // namespace pipescope::workbench
