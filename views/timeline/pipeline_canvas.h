#pragma once
#include <QAbstractScrollArea>
#include <QPixmap>
#include <QPointer>
#include <QStringList>
#include <functional>
#include <memory>

#include "profiler/geometry/pipeline_scene.h"
#include "profiler/geometry/time_axis.h"
#include "views/shell/palette.h"
#include "views/timeline/pipeline_painter.h"

namespace pipescope::timeline {

/// One device iteration of a pipeline: the devices against time, or a table with cells of equal width.
class PipelineCanvas : public QAbstractScrollArea {
  Q_OBJECT

 public:
  static constexpr int kGutter = PipelinePainter::kGutter;

  explicit PipelineCanvas(const shell::Palette& palette, QWidget* parent = nullptr);

  /// `marks` are drawn in the gaps between the cells; null: there are none.
  void setGrid(std::shared_ptr<const analysis::PipelineGrid> grid,
               std::shared_ptr<const geometry::PipelineMarks> marks, const geometry::TimeScale& scale);
  void setOptions(const geometry::PipelineOptions& options);
  const geometry::PipelineOptions& options() const { return options_; }
  const geometry::PipelineScene& scene() const { return scene_; }
  /// What the callout says about a cell: a heading, then lines.
  void setDescriber(std::function<QStringList(int cell)> describe) { describe_ = std::move(describe); }
  void setMarkDescriber(std::function<QStringList(const geometry::PipelineMark&)> describe) {
    describeMark_ = std::move(describe);
  }

  int selected() const { return selected_; }
  void select(int cell);
  void zoomBy(double factor);
  void zoomToAll();
  const geometry::TimeView& view() const { return view_; }
  /// Makes both canvases show the same stretch of time, counted from the beginning of their iterations; null:
  /// this one is alone again.
  void setTwin(PipelineCanvas* twin);
  /// Makes the canvas show all rows and columns by enlarging `frame`, which contains it. Returns what undoes
  /// it.
  std::function<void()> showWhole(QWidget& frame);
  /// The box of a cell in the viewport.
  QRect cellRect(int cell) const;

 Q_SIGNALS:
  void selectionChanged();
  void viewChanged();

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
  void layOut();
  double span() const;
  double ticksOf(const PipelineCanvas& twin) const;
  void followTwin();
  void show(geometry::TimeView view);
  void reveal(int cell);
  int top() const;
  int rowsWidth() const;
  int rowsHeight() const;
  void pointAt(const QPoint& position);
  void forgetMoved();
  void paintOverlay(QPainter& painter) const;

  const shell::Palette& palette_;
  std::shared_ptr<const analysis::PipelineGrid> grid_;
  std::shared_ptr<const geometry::PipelineMarks> marks_;
  geometry::PipelineOptions options_;
  geometry::PipelineMetrics metrics_;
  geometry::PipelineScene scene_;
  geometry::TimeScale scale_;
  geometry::TimeView view_;
  LabelFont labels_;
  std::function<QStringList(int)> describe_;
  std::function<QStringList(const geometry::PipelineMark&)> describeMark_;
  QPixmap picture_;
  QPointer<PipelineCanvas> twin_;
  bool following_ = false;
  bool stale_ = true, dragging_ = false, pressing_ = false;
  int selected_ = -1, hovered_ = -1;
  const geometry::PipelineMark* hoveredMark_ = nullptr;
  QPoint pressed_, pointer_;
  geometry::TimeView pressedView_;
};

}  // namespace pipescope::timeline
