#pragma once
#include <QWidget>
#include <functional>
#include <memory>

#include "profiler/geometry/graph_scene.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {

/// Shows a graph. The wheel zooms about the pointer, dragging pans, a click selects a box and a double click
/// opens it.
class GraphCanvas : public QWidget {
  Q_OBJECT

 public:
  explicit GraphCanvas(const shell::Palette& palette, QWidget* parent = nullptr);

  void setScene(std::shared_ptr<const geometry::GraphScene> scene);
  void setDescriber(std::function<QString(int box)> describe) { describe_ = std::move(describe); }
  void select(int box);  ///< −1: none; shows the box
  int selected() const { return selected_; }
  int boxes() const { return scene_ ? static_cast<int>(scene_->size()) : 0; }
  void zoomBy(double factor);
  void zoomToAll();
  QRect boxRect(int box) const;
  const geometry::GraphPlace& place() const { return place_; }
  QSize minimumSizeHint() const override { return {240, 180}; }

 Q_SIGNALS:
  void selectionChanged(int box);
  void opened(int box);
  void menuWanted(int box, const QPoint& at);  ///< at: on the screen
  void leaveWanted();                          ///< the user wants to see the group that contains the open one

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void zoomAbout(double factor, const QPointF& at);
  void pan(double dx, double dy);
  void step(int by);
  void choose(int box);
  void reveal(int box);

  const shell::Palette& palette_;
  LabelFont labels_;
  std::shared_ptr<const geometry::GraphScene> scene_;
  geometry::GraphPlace place_, pressedPlace_;
  std::function<QString(int)> describe_;
  int selected_ = -1;
  bool shown_ = false, pressing_ = false, dragging_ = false;
  QPoint pressed_;
};

}  // namespace pipescope::timeline
