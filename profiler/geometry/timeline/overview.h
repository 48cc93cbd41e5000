#pragma once
#include "profiler/geometry/shapes.h"
#include "profiler/geometry/timeline/timeline_model.h"

namespace pipescope::geometry {

/// The time of `view` on a strip of `height` pixels: a thin lane per recorded device that works, with its
/// passes.
Shapes overview(const TimelineModel& model, const TimeView& view, int height, bool byMicroBatch);

}  // namespace pipescope::geometry
