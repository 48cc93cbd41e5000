#pragma once
#include <QAbstractScrollArea>
#include <QPixmap>
#include <QStringList>
#include <functional>
#include <optional>
#include <utility>

#include "profiler/geometry/shapes.h"
#include "profiler/geometry/timeline/time_view.h"
#include "views/shell/look/palette.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {

/// Rows against time: names on the left, a head above. This class zooms, pans, scrolls, and draws the rows
/// anew only after a change. Subclasses decide what the rows show and what can be selected there.
class TimeCanvas : public QAbstractScrollArea {
  Q_OBJECT

 public:
  static constexpr int kGutter = kNamesWidth;

  const geometry::TimeView& view() const { return view_; }
  /// Shows this stretch, or the nearest that lies within what there is.
  void show(geometry::TimeView view);
  virtual void zoomToAll();
  /// Zooms about the pointer if it is over the rows, else about the middle.
  void zoomBy(double factor);
  void panBy(double part);
  /// Makes the canvas show all rows and the whole time by enlarging `frame`, which contains it. Returns what
  /// undoes it.
  std::function<void()> showWhole(QWidget& frame);

 Q_SIGNALS:
  void selectionChanged();
  void viewChanged();

 protected:
  /// `margin`: pixels above the first and below the last row.
  TimeCanvas(const shell::Palette& palette, int margin, QWidget* parent);

  virtual bool isEmpty() const = 0;
  /// Beginning and end of the time that can be shown.
  virtual std::pair<base::Ticks, base::Ticks> bounds() const = 0;
  /// The part of the viewport where the rows are.
  virtual QRect rowsArea() const = 0;
  /// Fits the rows to the size of the viewport.
  virtual void layOut() = 0;
  virtual void paintRows(QPainter& painter) const = 0;
  /// Finds what is below the pointer. `onRows`: its position relative to the rows, or nothing beside them.
  /// True if that is another thing than before.
  virtual bool pointAt(const std::optional<QPoint>& onRows) = 0;
  /// Boxes in the viewport of what is below the pointer and of what is selected.
  virtual std::optional<QRect> hoveredBox() const = 0;
  virtual std::optional<QRect> selectedBox() const = 0;
  /// Text of the callout: a heading, then lines. Empty: nothing.
  virtual QStringList callout() const = 0;
  virtual void click(const QPoint& onRows) = 0;
  /// Zooms to what is there, or to everything.
  virtual void doubleClick(const std::optional<QPoint>& onRows) = 0;
  /// A key that changes the selection. False: it has no meaning here.
  virtual bool pressKey(int key) = 0;
  /// True if a turn of the wheel zooms without Ctrl.
  virtual bool wheelZooms(const QPoint& position) const = 0;
  /// The pointer has been dragged from where it was pressed.
  virtual void dragTo(const QPoint& position);

  /// The rows are out of date.
  void refresh();
  void setRowsHeight(int height, int singleStep);
  /// Scrolls as little as needed until this box, relative to the rows, is visible.
  void revealRows(const geometry::Box& box);
  /// The y of the rows that is at the top of their area.
  int top() const;
  int rowsWidth() const;
  std::optional<QPoint> onRows(const QPoint& position) const;
  bool isPressing() const { return pressing_; }

  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

  const shell::Palette& palette_;
  const int margin_;
  LabelFont labels_;
  geometry::TimeView view_;

 private:
  void paintBuffered(QPainter& painter);
  void paintBoxes(QPainter& painter) const;

  geometry::TimeView pressedView_;
  QPixmap picture_;
  QPoint pressed_, pointer_;
  bool stale_ = true, dragging_ = false, pressing_ = false;
};

}  // namespace pipescope::timeline
