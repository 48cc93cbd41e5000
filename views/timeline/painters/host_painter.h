#pragma once
#include <QPainter>

#include "profiler/geometry/timeline/host_scene.h"
#include "profiler/geometry/timeline/time_axis.h"
#include "views/shell/look/palette.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {

/// Paints the host's timeline: an overview of everything, the time axis, and below them the rows with their
/// names.
class HostPainter {
 public:
  static constexpr int kGutter = kNamesWidth, kOverview = 40, kAxis = 22, kHead = kOverview + kAxis;
  static constexpr geometry::TimeScale kScale{geometry::TimeUnit::time, 1'000'000'000};

  struct Content {
    const shell::Palette& palette;
    const LabelFont& labels;
    const geometry::HostScene& scene;
    const geometry::TimeView& view;
    base::Ticks end;  ///< end of the timeline
    QSize size;       ///< size of the picture
    int top;          ///< first visible y of the scene
    int only;         ///< the name whose spans are not dimmed; −1: all
  };
  explicit HostPainter(const Content& content) : content_(content) {}

  void paint(QPainter& painter) const;

 private:
  void paintOverview(QPainter& painter) const;
  void paintAxis(QPainter& painter) const;
  void paintNames(QPainter& painter) const;
  int rowsWidth() const { return std::max(1, content_.size.width() - kGutter); }

  const Content& content_;
};

}  // namespace pipescope::timeline
