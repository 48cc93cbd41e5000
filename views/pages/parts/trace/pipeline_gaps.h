#pragma once
// Marks that fill the gaps between the passes of a drawn pipeline.
#include <QStringList>
#include <memory>

#include "profiler/geometry/timeline/pipeline_scene.h"
#include "profiler/geometry/timeline/time_axis.h"

namespace pipescope::pages {

using MarksPointer = std::shared_ptr<const geometry::PipelineMarks>;

/// Marks between passes, and those within passes in which the device exchanges with others.
struct PassMarks {
  MarksPointer gaps, exchanges;
};

/// Reads the marks of the iteration that the grid shows. A long call has none.
base::Result<PassMarks> readMarks(const model::ProfileSource& source, const analysis::Catalog& catalog,
                                  model::ExecutableId executable, const analysis::PipelineGrid& grid,
                                  base::Progress& progress);

/// The lines of the callout of a mark: what it is, and how long.
QStringList markInWords(const geometry::PipelineMark& mark, const geometry::TimeScale& scale);

}  // namespace pipescope::pages
