#pragma once
#include <QSize>

#include "profiler/geometry/timeline/time_axis.h"
#include "profiler/geometry/timeline/time_view.h"
#include "views/shell/look/palette.h"
#include "views/timeline/painters/shapes_painter.h"

namespace pipescope::timeline {

/// Values that all painters of a timeline need. The viewport has a gutter with the names of the rows on the
/// left, a band with the device iterations and the time axis at the top, and the rows in the rest.
struct TimelineLook {
  static constexpr int kGutter = kNamesWidth;
  static constexpr int kStepBand = 18, kAxis = 22;  ///< heights at the top
  static constexpr int kTop = kStepBand + kAxis;
  static constexpr double kTickSpacing = 120;  ///< pixels between two labels of the axis, at least

  const shell::Palette& palette;
  const LabelFont& labels;
  geometry::TimeScale scale;
  geometry::TimeView view;
  QSize size;          ///< size of the viewport
  base::Ticks origin;  ///< the axis counts from here
};

}  // namespace pipescope::timeline
