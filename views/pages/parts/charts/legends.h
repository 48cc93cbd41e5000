#pragma once
// The legends of the timeline and of the pipeline: every colour that is drawn.
#include <vector>

#include "profiler/geometry/timeline/pipeline_scene.h"
#include "profiler/geometry/timeline/timeline_layout.h"
#include "views/timeline/legend.h"

namespace pipescope::pages {

/// Entries for what the timeline shows with these options.
std::vector<timeline::LegendEntry> timelineLegend(const geometry::TimelineModel& model,
                                                  const geometry::TimelineOptions& options);

/// `marks` and `strips` may be null.
std::vector<timeline::LegendEntry> pipelineLegend(const analysis::PipelineGrid& grid,
                                                  const geometry::PipelineOptions& options,
                                                  const geometry::PipelineMarks* marks,
                                                  const geometry::PipelineMarks* strips = nullptr);

}  // namespace pipescope::pages
