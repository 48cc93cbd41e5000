#pragma once
// A part of a timeline as shapes, with the positions of its items.
#include <optional>
#include <string>

#include "profiler/geometry/shapes.h"
#include "profiler/geometry/timeline/found_steps.h"
#include "profiler/geometry/timeline/timeline_layout.h"

namespace pipescope::geometry {

/// Something on a timeline that users can point at.
struct TimelineItem {
  enum class Kind { none, pass, wait, group, step, transfer, far, counter, wall };
  Kind kind = Kind::none;
  int row = -1;  ///< index into TimelineLayout::rows
  int device = -1, track = 0;
  /// Index of the pass, wait or summary span of the track, the transfer or run of the trace, or the point of
  /// the counter.
  int index = -1;
  int placement = -1;  ///< index into TraceTrack::placements, for a group or step
  int box = -1;        ///< index into the FlameRow, for a group or step
  Ticks start, end;
  int unit = -1;  ///< the tile under the pointer

  explicit operator bool() const { return kind != Kind::none; }
  friend bool operator==(const TimelineItem&, const TimelineItem&) = default;
};

/// The part of a timeline that a canvas shows.
struct TimelineWindow {
  TimeView view;
  int top = 0;     ///< first visible y of the layout
  int height = 0;  ///< visible pixels
};

/// The boxes of a placement in a row, with the index of the widest. Empty if the row shows nothing of it.
struct PlacementBoxes {
  const analysis::FlameRow* row = nullptr;
  const WidestIndex* index = nullptr;
  explicit operator bool() const { return row != nullptr; }
};

/// A trace with its rows: what to draw, and the positions of items.
class TimelineScene {
 public:
  TimelineScene() = default;
  TimelineScene(std::shared_ptr<const TimelineModel> model, TimelineLayout layout, TimelineOptions options);

  const TimelineLayout& layout() const { return layout_; }
  const TimelineOptions& options() const { return options_; }
  const TimelineModel* model() const { return model_.get(); }
  bool empty() const { return !model_; }
  /// The steps that match options().find; null if nothing is looked for.
  const FoundSteps* found() const { return found_.get(); }

  /// Shapes of the window; y is relative to its top. The cost depends on its pixels.
  Shapes draw(const TimelineWindow& window, const TextMeasure& measure) const;

  // Positions
  /// Returns the innermost item at a point of the window, or the longest of several that share the pixel.
  TimelineItem itemAt(const TimelineWindow& window, int x, int y) const;
  /// Returns the box in which an item is drawn, at least one pixel wide; nothing if it lies outside the
  /// window.
  std::optional<Box> boxOf(const TimelineWindow& window, const TimelineItem& item) const;
  /// The next (+1) or previous (−1) item of the same row; none at the end.
  TimelineItem neighbour(const TimelineItem& item, int direction) const;
  /// The start or end, within `reach` pixels of `x`, of an item in the row under `y`. The time at `x` if
  /// there is none.
  Ticks snap(const TimelineWindow& window, int x, int y, int reach) const;
  /// The row that shows a transfer on a device; −1: none.
  int transferRow(int device, int transfer) const;

  // Items
  TimelineItem passItem(const analysis::PlacementPlace& place) const;
  TimelineItem waitItem(int device, int index) const;
  TimelineItem transferItem(int transfer) const;
  /// A box of a placement that the row shows.
  TimelineItem boxItem(int row, std::size_t placement, std::size_t box) const;

  // Contents
  /// Returns the label of the item in a box: "F3", the part of a name path, "activation 3".
  std::string labelOf(const TimelineItem& item) const;
  /// The whole name path of a group or step: "layer1/conv/Convolve". Empty for other items.
  std::string pathOf(const TimelineItem& item) const;
  /// The box of a group or step; null for other items.
  const analysis::FlameBox* flameBox(const TimelineItem& item) const;
  /// Returns the work of single tiles in a step. Empty if it was not recorded.
  std::vector<analysis::UnitTicks> unitsOf(const TimelineItem& step) const;
  const analysis::TraceTrack& track(const TimelineRow& row) const;
  PlacementBoxes boxesOf(const TimelineRow& row, const analysis::TracePlacement& placement) const;

 private:
  TimelineItem activityItem(int row, std::size_t index) const;
  TimelineItem wallItem(int row, std::ptrdiff_t run) const;
  TimelineItem counterItem(int row, std::ptrdiff_t point) const;
  TimelineItem stepItemAt(int row, const TimeView& view, int x) const;
  TimelineItem transferItemAt(int row, const TimeView& view, int x) const;
  TimelineItem nextBox(const TimelineItem& item, int direction) const;
  /// The row of a kind, device, track and lane; −1: not shown.
  int rowOf(RowKind kind, int device, int track, int lane) const;

  std::shared_ptr<const TimelineModel> model_;
  TimelineLayout layout_;
  TimelineOptions options_;
  std::shared_ptr<const FoundSteps> found_;
};

/// "F3", "R3", "B3", "U": what a pass of a micro-batch is called in a box.
std::string passLabel(model::Pass pass, int microBatch);

}  // namespace pipescope::geometry
