#pragma once
// One iteration of a pipeline as cells. A cell says what a device did for which micro-batch, when, and in
// which column of a schedule table.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/iterations.h"
#include "profiler/analysis/pipeline/waits.h"
#include "profiler/base/progress.h"

namespace pipescope::analysis {

/// A pass of one micro-batch on one stage: forward, backward with its recompute, or weight gradient.
struct PipelineCell {
  std::int32_t row = 0;  ///< index into PipelineGrid::rows
  std::int32_t stage = -1, microBatch = -1, slot = -1;
  model::Pass pass = model::Pass::forward;
  Ticks start, end;  ///< times in ticks of device 0; a backward pass begins with its recompute
  Ticks recompute;   ///< the recompute's share of that time
  std::int32_t column = 0;
  model::PlacementId placement;  ///< the cell's first placement
  bool critical = false;         ///< true on the critical path of the call
};

struct PipelineRow {
  model::DeviceId device;
  std::string name, shortName;  ///< the short one leaves out what all names have in common
  std::vector<std::int32_t> stages;
  std::vector<std::int32_t> cells;  ///< indices into PipelineGrid::cells, by start
  Ticks busy;                       ///< time of its passes in the flush
};

struct PipelineGrid {
  model::RunId run;
  std::int32_t iteration = 0, iterations = 1;  ///< index of this iteration, and iterations in the call
  std::int64_t microBatches = 0;               ///< micro-batches of the flush
  std::int64_t shownMicroBatches = 0;          ///< fewer if the flush is too long for a table
  std::vector<PipelineRow> rows;               ///< devices that hold a stage
  std::vector<PipelineCell> cells;             ///< sorted by start
  std::int32_t columns = 0;
  /// Headings of the columns: the pipeline cycle and its half ("3 F"), or a number.
  std::vector<std::string> heads;
  bool hasSlots = false;
  IterationSpan span;       ///< times of the iteration; its length is the step time
  double meanStepTime = 0;  ///< length of the call ÷ its iterations, in ticks
  /// The flush: from the first forward's start to the last backward's end (inference: the last forward's).
  Ticks start, end;
  /// Ends of a drawing: those of the iteration. A flush may begin before its iteration if iterations overlap.
  Ticks shownStart() const { return span.length().count > 0 ? std::min(span.start, start) : start; }
  Ticks shownEnd() const { return span.length().count > 0 ? std::max(span.end, end) : end; }
  /// Borders of the steady part (bubble.h). Both are equal if there is none.
  Ticks rampUpEnd, rampDownStart;
  /// The first column in which every row has a cell; −1: none. With slots, it belongs to the first cycle in
  /// which every row does both of its halves.
  std::int32_t firstFullColumn = -1;
  std::int32_t firstFullSlot = -1;
  /// False if the trace of a recorded run lacks passes of some stages. There are no phases and no critical
  /// path then, and the lengths of the flush and the step say nothing.
  bool whole = true;
  /// True if several stages work one after another. A single stage has no ramps, and it works always.
  bool isPipeline() const {
    std::size_t stages = 0;
    for (const PipelineRow& row : rows) stages += row.stages.size();
    return stages > 1;
  }
  /// True if ramp-up, steady part and ramp-down are known.
  bool hasPhases() const { return whole && isPipeline(); }
  bool criticalKnown = false;
  PathSums path;  ///< sums of the critical path within the iteration; they add up to the step time
};

struct PipelineRequest {
  model::ExecutableId executable;
  model::RunId run;                       ///< none: the executable's last one
  std::optional<std::int32_t> iteration;  ///< none: the main one (iterations.h)
  std::int64_t mostCells = 60'000;
};

/// An error says what could not be read. A run without placements gives a grid without cells.
Result<PipelineGrid> pipelineGrid(const model::ProfileSource& source, const Catalog& catalog,
                                  const PipelineRequest& request, base::Progress& progress);

}  // namespace pipescope::analysis
