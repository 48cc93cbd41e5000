#pragma once
#include <QWidget>
#include <optional>

#include "views/workbench/board_layout.h"

namespace pipescope::shell {
class Palette;
}

namespace pipescope::workbench {

/// The stages by device, with their blocks as cards. Cards are dragged to other stages, and headings of
/// stages to other devices. While something is dragged, the board asks for predictions by tried().
class StageBoard : public QWidget {
  Q_OBJECT

 public:
  explicit StageBoard(const shell::Palette& palette, QWidget* parent = nullptr);

  /// Shows stages without figures; they come with the next prediction.
  void setPlaces(const StagePlaces& places);
  /// The figures of the stages that are shown now. Differences are shown to the stages before a drag.
  void setPrediction(const Prediction& prediction);
  /// The figures are old, because another prediction is under way.
  void setPending(bool pending);
  void clear();

  const StagePlaces& places() const { return trial_ ? *trial_ : places_; }
  bool isDragging() const { return dragging_; }
  /// The block that has the keyboard's mark; empty: none.
  QString marked() const { return marked_; }
  /// Rectangles of things, for tests and tool tips. Empty rectangles: they do not exist.
  QRect cardRect(const QString& block) const { return layout_.cardRect(block); }
  QRect headRect(int stage) const;
  QRect stageRect(int stage) const;
  QRect newDeviceRect() const { return layout_.newDevice(); }
  /// The lines of figures that a stage shows.
  QStringList figures(int stage) const;

  QSize sizeHint() const override { return layout_.size(); }
  QSize minimumSizeHint() const override { return {200, 160}; }

 Q_SIGNALS:
  /// The user holds something over a place.
  void tried(const pipescope::workbench::StagePlaces& places);
  /// The user has dropped it there.
  void moved(const pipescope::workbench::StagePlaces& places);
  /// The user has given up; the stages are those from before.
  void abandoned();
  /// This part should be visible: the held block, or the marked one.
  void attention(const QRect& part);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void arrange();
  StagePlaces placesAt(const QPoint& at) const;
  void tryAt(const QPoint& at);
  void endDrag();
  void moveMarked(const StagePlaces& places);
  void mark(int step, int stageStep);

  const shell::Palette& palette_;
  StagePlaces places_;
  std::optional<StagePlaces> trial_;  ///< places while something is dragged
  std::optional<Prediction> prediction_, before_;
  StageLayout layout_;
  QString marked_, held_;  ///< blocks
  int heldStage_ = -1;
  bool pressed_ = false, dragging_ = false, pending_ = false;
  QPoint pressedAt_, pointer_;
};

}  // namespace pipescope::workbench
