#pragma once
// One device iteration of a pipeline as shapes: the devices against time, or a schedule table with cells of
// equal width.
#include <map>
#include <optional>
#include <set>

#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/geometry/shapes.h"
#include "profiler/geometry/timeline/folding.h"
#include "profiler/geometry/timeline/pipeline_marks.h"
#include "profiler/geometry/timeline/time_view.h"

namespace pipescope::geometry {

struct PipelineOptions {
  bool grid = false;         ///< cells of equal width instead of time
  bool byMicroBatch = true;  ///< colours by micro-batch instead of by pass
  bool critical = false;     ///< outlines the passes on the critical path
  std::int32_t path = -1;    ///< highlighted micro-batch; −1: none
  friend bool operator==(const PipelineOptions&, const PipelineOptions&) = default;
};

/// Heights in pixels. `foot` is kept free below the rows, for words about the whole iteration.
struct PipelineMetrics {
  int head = 22, phases = 18, row = 34, gap = 6, foot = 0;
  int top() const { return head + phases; }
};

/// Ticks of a column. The view of a table counts columns instead of time.
inline constexpr std::int64_t kColumnTicks = 1000;

using PipelineMarks = std::vector<std::vector<PipelineMark>>;

class PipelineScene {
 public:
  PipelineScene() = default;
  /// `marks`, by row, are drawn in the gaps between the cells, and `strips` along the lower edge of the
  /// cells; null: there are none.
  PipelineScene(std::shared_ptr<const analysis::PipelineGrid> grid, PipelineOptions options,
                const PipelineMetrics& metrics = {}, std::shared_ptr<const PipelineMarks> marks = {},
                std::shared_ptr<const PipelineMarks> strips = {});

  const analysis::PipelineGrid* grid() const { return grid_.get(); }
  const PipelineMarks* marks() const { return marks_.get(); }    ///< null: none are drawn
  const PipelineMarks* strips() const { return strips_.get(); }  ///< null: none are drawn
  const PipelineOptions& options() const { return options_; }
  const PipelineMetrics& metrics() const { return metrics_; }
  /// The ends of a view of everything, in time or columns.
  Ticks start() const;
  Ticks end() const;
  /// The height of all rows, without head and phases.
  int height() const;

  /// The rows from `top` on, in a window of `height` pixels.
  Shapes draw(const TimeView& view, int top, int height, const TextMeasure& measure) const;
  /// Ramp-up, steady phase and ramp-down, which make up the flush, as a band `metrics().phases` high.
  Shapes drawPhases(const TimeView& view, const TextMeasure& measure) const;
  /// The heads of a table's columns in a band `metrics().head` high.
  Shapes drawHeads(const TimeView& view, const TextMeasure& measure) const;
  /// Arrows along the path of the highlighted micro-batch.
  std::vector<Arrow> pathArrows(const TimeView& view, int top) const;
  /// The column of pixels at which the first full cycle begins, if there is one.
  std::optional<int> firstFull(const TimeView& view) const;

  /// The index of the cell at a point of the rows; −1: none.
  int cellAt(const TimeView& view, int top, int x, int y) const;
  /// The mark at a point of the rows; null: none.
  const PipelineMark* markAt(const TimeView& view, int top, int x, int y) const;
  Box boxOf(const TimeView& view, int top, int cell) const;
  /// The next (+1) or previous (−1) cell of the same row, and the cell that the micro-batch goes to or comes
  /// from; −1: none.
  int neighbour(int cell, int direction) const;
  int alongPath(int cell, int direction) const;
  /// Returns the label of a cell: "F3", "B3" or "W3".
  std::string labelOf(int cell) const;

 private:
  Ticks startOf(std::int32_t cell) const;
  Ticks endOf(std::int32_t cell) const;
  ColourRole roleOf(const analysis::PipelineCell& cell) const;
  void drawStrips(Shapes& shapes, std::size_t row, const TimeView& view, int top) const;
  void drawMarks(Shapes& shapes, std::size_t row, const TimeView& view, int top,
                 const TextMeasure& measure) const;
  /// The visible part of a row: its cells, of which narrow ones are merged.
  struct VisibleRow {
    std::size_t row = 0;
    std::vector<Folded> cells;
  };
  /// A kind of passes that has labels. A row whose passes of the kind are all too narrow has none and does
  /// not count.
  struct Labelled {
    bool isShort = false;        ///< the labels are the numbers of micro-batches alone
    std::set<std::size_t> rows;  ///< rows that have them
  };
  /// The passes that have labels. A row with room for some label counts; in these rows all passes of a kind
  /// have a label, or none has one.
  std::map<model::Pass, Labelled> labelledPasses(const std::vector<VisibleRow>& rows, const TimeView& view,
                                                 const TextMeasure& measure) const;
  void drawRow(Shapes& shapes, const VisibleRow& row, const std::map<model::Pass, Labelled>& labels,
               const TimeView& view, int top, const TextMeasure& measure) const;
  int yOf(std::int32_t row, int top) const { return row * (metrics_.row + metrics_.gap) - top; }

  std::shared_ptr<const analysis::PipelineGrid> grid_;
  PipelineOptions options_;
  PipelineMetrics metrics_;
  std::shared_ptr<const PipelineMarks> marks_, strips_;
  std::vector<WidestIndex> rows_, markRows_, stripRows_;
  std::vector<std::int32_t> path_;  ///< cells of the highlighted micro-batch, by start
};

}  // namespace pipescope::geometry
