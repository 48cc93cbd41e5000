#pragma once
// Marks that fill the gaps between the cells of a pipeline: host copies, exchange and other work that belongs
// to no cell, and waits with their causes.
#include <string>
#include <vector>

#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/analysis/timeline/trace.h"
#include "profiler/geometry/colour_role.h"
#include "profiler/geometry/timeline/time_view.h"

namespace pipescope::geometry {

struct PipelineMark {
  Ticks start, end;
  ColourRole role = ColourRole::idle;
  std::string name;     ///< "host_in", "exchange", "slower stage", "another iteration"
  bool isWait = false;  ///< drawn hatched
  friend bool operator==(const PipelineMark&, const PipelineMark&) = default;
};

/// The marks of each row of the grid, ascending and without overlap; cells come before marks, work before
/// transfers, transfers before waits, and these before work of an unknown kind. `trace` holds the grid's
/// call; of a trace that was read from afar there are none.
std::vector<std::vector<PipelineMark>> pipelineMarks(const analysis::PipelineGrid& grid,
                                                     const analysis::Trace& trace);

/// The times within the passes of each row in which the device exchanges with others, such as for the sums of
/// a layer that several chips share. They ascend and do not overlap. If there are more than `most` of all
/// rows, there are none.
std::vector<std::vector<PipelineMark>> passExchanges(const analysis::PipelineGrid& grid,
                                                     const analysis::Trace& trace,
                                                     std::size_t most = 100'000);

}  // namespace pipescope::geometry
