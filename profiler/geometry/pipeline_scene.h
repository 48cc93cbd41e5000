#pragma once
// One step of a pipeline as shapes: stages × time, or a schedule table with equal cells.
#include <optional>

#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/geometry/folding.h"
#include "profiler/geometry/shapes.h"
#include "profiler/geometry/time_view.h"

namespace pipescope::geometry {

struct PipelineOptions {
  bool grid = false;         ///< equal cells instead of time
  bool byMicroBatch = true;  ///< colours: by micro-batch, or by pass
  bool critical = false;     ///< outlines of what is on the critical path
  std::int32_t path = -1;    ///< micro-batch that is lit; −1: none
  friend bool operator==(const PipelineOptions&, const PipelineOptions&) = default;
};

/// Heights in pixels.
struct PipelineMetrics {
  int head = 22, phases = 18, row = 34, gap = 6;
  int top() const { return head + phases; }
};

/// A view of a grid runs over columns: a column is this many ticks wide.
inline constexpr std::int64_t kColumnTicks = 1000;

class PipelineScene {
 public:
  PipelineScene() = default;
  PipelineScene(std::shared_ptr<const analysis::PipelineGrid> grid, PipelineOptions options,
                const PipelineMetrics& metrics = {});

  const analysis::PipelineGrid* grid() const { return grid_.get(); }
  const PipelineOptions& options() const { return options_; }
  const PipelineMetrics& metrics() const { return metrics_; }
  /// What a view of everything runs from and to: times, or columns.
  Ticks start() const;
  Ticks end() const;
  /// Of all rows, without head and phases.
  int height() const;

  /// Rows of the window, with y = 0 at the top of the first row minus `top`.
  Shapes draw(const TimeView& view, int top, int height, const TextMeasure& measure) const;
  /// Ramp-up, steady, ramp-down as a band `metrics().phases` high.
  Shapes drawPhases(const TimeView& view, const TextMeasure& measure) const;
  /// Heads of the columns of a grid, in a band `metrics().head` high.
  Shapes drawHeads(const TimeView& view, const TextMeasure& measure) const;
  /// Arrows along the lit micro-batch.
  std::vector<Arrow> pathArrows(const TimeView& view, int top) const;
  /// Column of pixels at which the first full cycle begins; none where there is none.
  std::optional<int> firstFull(const TimeView& view) const;

  /// Index of the cell at a point of the rows; −1: none.
  int cellAt(const TimeView& view, int top, int x, int y) const;
  Box boxOf(const TimeView& view, int top, int cell) const;
  /// The next cell of the same row (direction ±1), or the cell that the micro-batch comes from or goes to.
  int neighbour(int cell, int direction) const;
  int alongPath(int cell, int direction) const;
  /// "F3", "B3", "W3".
  std::string labelOf(int cell) const;

 private:
  Ticks startOf(std::int32_t cell) const;
  Ticks endOf(std::int32_t cell) const;
  ColourRole roleOf(const analysis::PipelineCell& cell) const;
  void drawRow(Shapes& shapes, std::size_t row, const TimeView& view, int top,
               const TextMeasure& measure) const;
  int yOf(std::int32_t row, int top) const { return row * (metrics_.row + metrics_.gap) - top; }

  std::shared_ptr<const analysis::PipelineGrid> grid_;
  PipelineOptions options_;
  PipelineMetrics metrics_;
  std::vector<WidestIndex> rows_;
  std::vector<std::int32_t> path_;  ///< cells of the lit micro-batch, by start
};

}  // namespace pipescope::geometry
