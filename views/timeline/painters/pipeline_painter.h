#pragma once
#include <QPainter>

#include "profiler/geometry/timeline/pipeline_scene.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "views/shell/look/palette.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {

/// Paints one device iteration of a pipeline: cells, names of stages, phases, and the time or columns above.
class PipelinePainter {
 public:
  static constexpr int kGutter = kNamesWidth;

  struct Content {
    const shell::Palette& palette;
    const LabelFont& labels;
    const analysis::PipelineGrid& grid;
    const geometry::PipelineScene& scene;
    const geometry::PipelineOptions& options;
    const geometry::PipelineMetrics& metrics;
    geometry::TimeScale scale;
    geometry::TimeView view;
    QSize size;  ///< size of the picture
    int top;     ///< first visible y of the scene
    int lit;     ///< row whose name is lit; −1: none
  };
  explicit PipelinePainter(const Content& content) : content_(content) {}

  void paint(QPainter& painter) const;

 private:
  void paintCells(QPainter& painter) const;
  void paintFirstFull(QPainter& painter) const;
  void paintHead(QPainter& painter) const;
  void paintAxis(QPainter& painter) const;
  void paintGutter(QPainter& painter) const;
  void paintRowName(QPainter& painter, const analysis::PipelineRow& row, int y) const;

  const Content& content_;
};

}  // namespace pipescope::timeline
