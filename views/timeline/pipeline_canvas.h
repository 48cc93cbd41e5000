#pragma once
#include <QPointer>
#include <QStringList>
#include <functional>
#include <memory>

#include "profiler/geometry/timeline/pipeline_scene.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "views/shell/look/palette.h"
#include "views/timeline/painters/pipeline_painter.h"
#include "views/timeline/time_canvas.h"

namespace pipescope::timeline {

/// One device iteration of a pipeline: the devices against time, or a table with cells of equal width.
class PipelineCanvas : public TimeCanvas {
  Q_OBJECT

 public:
  explicit PipelineCanvas(const shell::Palette& palette, QWidget* parent = nullptr);

  /// `marks` are drawn in the gaps between the cells, and `strips` along the lower edge of these; null: there
  /// are none.
  void setGrid(std::shared_ptr<const analysis::PipelineGrid> grid,
               std::shared_ptr<const geometry::PipelineMarks> marks, const geometry::TimeScale& scale,
               std::shared_ptr<const geometry::PipelineMarks> strips = {});
  void setOptions(const geometry::PipelineOptions& options);
  const geometry::PipelineOptions& options() const { return options_; }
  const geometry::PipelineScene& scene() const { return scene_; }
  /// Sets the text of the callout for a cell: a heading, then lines.
  void setDescriber(std::function<QStringList(int cell)> describe) { describe_ = std::move(describe); }
  void setMarkDescriber(std::function<QStringList(const geometry::PipelineMark&)> describe) {
    describeMark_ = std::move(describe);
  }

  int selected() const { return selected_; }
  void select(int cell);
  void zoomToAll() override;
  /// Makes both canvases show the same stretch of time, counted from the beginning of their iterations; null:
  /// this one is alone again.
  void setTwin(PipelineCanvas* twin);
  /// Lights the row of a device that was selected elsewhere; −1: none.
  void lightRow(int row);
  int litRow() const { return lit_; }
  /// The box of a cell in the viewport.
  QRect cellRect(int cell) const;

 Q_SIGNALS:
  void doubleClicked(int cell);
  void menuWanted(int cell, const QPoint& at);  ///< at: on the screen

 protected:
  bool isEmpty() const override { return grid_ == nullptr; }
  std::pair<base::Ticks, base::Ticks> bounds() const override;
  QRect rowsArea() const override;
  void layOut() override;
  void paintRows(QPainter& painter) const override;
  bool pointAt(const std::optional<QPoint>& onRows) override;
  std::optional<QRect> hoveredBox() const override;
  std::optional<QRect> selectedBox() const override;
  QStringList callout() const override;
  void click(const QPoint& onRows) override;
  void doubleClick(const std::optional<QPoint>& onRows) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  bool pressKey(int key) override;
  bool wheelZooms(const QPoint&) const override { return false; }

 private:
  double span() const;
  double ticksOf(const PipelineCanvas& twin) const;
  void followTwin();
  void reveal(int cell);

  std::shared_ptr<const analysis::PipelineGrid> grid_;
  std::shared_ptr<const geometry::PipelineMarks> marks_, strips_;
  geometry::PipelineOptions options_;
  geometry::PipelineMetrics metrics_;
  geometry::PipelineScene scene_;
  geometry::TimeScale scale_;
  std::function<QStringList(int)> describe_;
  std::function<QStringList(const geometry::PipelineMark&)> describeMark_;
  QPointer<PipelineCanvas> twin_;
  bool following_ = false;
  int selected_ = -1, hovered_ = -1, lit_ = -1;
  const geometry::PipelineMark* hoveredMark_ = nullptr;
};

}  // namespace pipescope::timeline
