#pragma once
#include <QAbstractScrollArea>
#include <QElapsedTimer>
#include <QPixmap>
#include <functional>
#include <memory>

#include "profiler/geometry/time_axis.h"
#include "profiler/geometry/timeline_scene.h"
#include "views/shell/palette.h"
#include "views/shell/time_range.h"
#include "views/timeline/shapes_painter.h"

namespace pipescope::timeline {

/// A timeline: names on the left, time above, rows below. Draws what profiler/geometry makes of a trace;
/// knows nothing of files. What lies under pointer, selection and arrows is painted from a picture that only
/// changes with the view.
class TimelineCanvas : public QAbstractScrollArea {
  Q_OBJECT

 public:
  static constexpr int kGutter = 150, kStepBand = 18, kAxis = 22, kTop = kStepBand + kAxis;

  TimelineCanvas(const shell::Palette& palette, shell::TimeRange& range, QWidget* parent = nullptr);

  /// Another trace, or null. Keeps rows' options, forgets the selection.
  void setModel(std::shared_ptr<const geometry::TimelineModel> model);
  void setOptions(const geometry::TimelineOptions& options);
  const geometry::TimelineOptions& options() const { return scene_.options(); }
  /// `clickable`: the unit's name is a link that says so by timeUnitClicked().
  void setTimeScale(const geometry::TimeScale& scale, bool clickable = false);
  /// What to say about an item next to the pointer: a heading, then lines.
  void setDescriber(std::function<QStringList(const geometry::TimelineItem&)> describe) {
    describe_ = std::move(describe);
  }

  const geometry::TimelineScene& scene() const { return scene_; }
  /// What the rows show; x and y of its answers are relative to (kGutter, kTop) of the viewport.
  geometry::TimelineWindow window() const;

  const geometry::TimelineItem& selected() const { return selected_; }
  void select(const geometry::TimelineItem& item);
  /// Scrolls and pans, as little as needed, until the item is in sight.
  void reveal(const geometry::TimelineItem& item);
  /// Shows [start, end), with some room at both sides.
  void zoomTo(base::Ticks start, base::Ticks end, double room = 0.04);
  void zoomToSelection();
  void zoomToAll();
  /// About the middle, or about the pointer if it is over the rows.
  void zoomBy(double factor);
  void panBy(double fraction);
  /// Higher (+1) or lower (−1) rows of steps; 0: as high as lets all devices be seen.
  void changeRowHeight(int direction);
  /// Selects what the selected wait waited for, and shows it. False where there is nothing.
  bool followWait();
  void selectNeighbour(int direction);
  /// How long the last drawing of the rows took.
  double lastDrawMs() const { return lastDrawMs_; }

 Q_SIGNALS:
  void selectionChanged();
  void stepChosen(int iteration);  ///< index into Trace::iterations
  void timeUnitClicked();

 protected:
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

 private:
  enum class Drag { none, pressed, pan, range };

  void layOut();
  geometry::RowMetrics rowMetrics() const;
  void refresh();  ///< the rows' picture is out of date
  void apply(geometry::TimeView view);
  void rememberGesture();
  void drawPicture();
  void paintGutter(QPainter& painter) const;
  void paintGroup(QPainter& painter, const geometry::TimelineGroup& group) const;
  void paintAxis(QPainter& painter) const;
  void paintSteps(QPainter& painter) const;
  void paintOverlay(QPainter& painter) const;
  void paintCallout(QPainter& painter) const;
  void paintRange(QPainter& painter) const;
  void setHovered(const QPoint& position);
  void clickAt(const QPoint& position);
  bool handleKey(int key, Qt::KeyboardModifiers modifiers);
  int stepAt(int x) const;
  int rowsWidth() const;

  const shell::Palette& palette_;
  shell::TimeRange& range_;
  geometry::TimelineScene scene_;
  std::shared_ptr<const geometry::TimelineModel> model_;
  geometry::TimelineOptions options_;
  geometry::TimeScale scale_;
  std::function<QStringList(const geometry::TimelineItem&)> describe_;
  LabelFont labels_;
  geometry::TimelineItem selected_, hovered_;
  QPixmap picture_;
  bool pictureStale_ = true;
  double lastDrawMs_ = 0;
  Drag drag_ = Drag::none;
  QPoint pressed_, pointer_{-1, -1};
  geometry::TimeView pressedView_;
  int pressedScroll_ = 0;
  int stepHeight_ = 0;  ///< 0: what fits
  geometry::RowMetrics metrics_;
  bool unitClickable_ = false;
  QElapsedTimer gesture_;
};

}  // namespace pipescope::timeline
