#pragma once
// A stretch of a timeline as shapes, and what lies where.
#include <optional>
#include <string>

#include "profiler/geometry/shapes.h"
#include "profiler/geometry/timeline_layout.h"

namespace pipescope::geometry {

/// Something on a timeline that can be pointed at.
struct TimelineItem {
  enum class Kind { none, pass, wait, group, step, transfer, far, counter, wall };
  Kind kind = Kind::none;
  int row = -1;  ///< index into TimelineLayout::rows
  int device = -1, track = 0;
  /// Pass, wait, far span (of the track), transfer or run (of the trace) or point (of the counter).
  int index = -1;
  int placement = -1;  ///< of a group or step: index into TraceTrack::placements
  int box = -1;        ///< of a group or step: index into its FlameRow
  Ticks start, end;
  int unit = -1;  ///< the tile pointed at

  explicit operator bool() const { return kind != Kind::none; }
  friend bool operator==(const TimelineItem&, const TimelineItem&) = default;
};

/// What part of the timeline a canvas shows.
struct TimelineWindow {
  TimeView view;
  int top = 0;     ///< first visible y of the layout
  int height = 0;  ///< visible pixels
};

class TimelineScene {
 public:
  TimelineScene() = default;
  TimelineScene(std::shared_ptr<const TimelineModel> model, TimelineLayout layout, TimelineOptions options);

  const TimelineLayout& layout() const { return layout_; }
  const TimelineOptions& options() const { return options_; }
  const TimelineModel* model() const { return model_.get(); }
  bool empty() const { return !model_; }

  /// Shapes of the window; y is relative to its top. Cost depends on its pixels.
  Shapes draw(const TimelineWindow& window, const TextMeasure& measure) const;

  /// The innermost item at a point of the window; where several share the pixel, the longest.
  TimelineItem itemAt(const TimelineWindow& window, int x, int y) const;
  /// Where an item is drawn, at least one pixel wide; nothing if it lies outside the window.
  std::optional<Box> boxOf(const TimelineWindow& window, const TimelineItem& item) const;
  /// The next (+1) or previous (−1) item of the same row; none at the end.
  TimelineItem neighbour(const TimelineItem& item, int direction) const;

  /// What the item is called in a box: "F3", the part of a name path, "activation 3".
  std::string labelOf(const TimelineItem& item) const;

  /// The whole name path of a group or step: "layer1/conv/Convolve".
  std::string pathOf(const TimelineItem& item) const;

  /// The box of a group or step; null for others.
  const analysis::FlameBox* flameBox(const TimelineItem& item) const;
  /// What single tiles do in a step; empty where it was not recorded.
  std::vector<analysis::UnitRun> unitsOf(const TimelineItem& step) const;

  TimelineItem passItem(const analysis::PlacementPlace& place) const;
  TimelineItem waitItem(int device, int index) const;
  TimelineItem transferItem(int transfer) const;
  /// The first step of a program on a device (−1: on any) that ends after `from`, or the first of all; none
  /// where no row shows one.
  TimelineItem stepOf(model::ProgramId program, int device, Ticks from) const;
  /// The placement whose end a wait waited for; none if it lies in another run or is the host.
  TimelineItem waitedFor(const TimelineItem& wait) const;

  /// The transfers that brought a pass its input and took its output away; indices into Trace::transfers.
  std::vector<int> transfersOf(const TimelineItem& pass) const;

  /// The next (+1) or previous (−1) item like this one: a pass of the same kind, a wait of the same cause, a
  /// step of the same name, a transfer of the same kind, on the same row; none at the end.
  TimelineItem nextLike(const TimelineItem& item, int direction) const;

  /// Times at which something on the row under `y` begins or ends near `x`: the closest within `reach`
  /// pixels; the time at `x` itself where there is none.
  Ticks snap(const TimelineWindow& window, int x, int y, int reach) const;

  /// The next (+1), previous (−1) or first (0: at or after `from`) step or group whose name contains the text
  /// (small letters); passes over whatever is not shown. Looks at one placement of each row and segment at a
  /// time.
  TimelineItem find(const std::string& text, const TimelineItem& from, int direction) const;

  /// Arrows that explain the item: its transfer, a pass's input and output, what a wait waited for.
  std::vector<Arrow> arrows(const TimelineWindow& window, const TimelineItem& item) const;

 private:
  friend class RowDrawer;
  const analysis::TraceTrack& track(const TimelineRow& row) const;
  const analysis::FlameRow* flameRow(const TimelineRow& row, const analysis::TracePlacement& placement,
                                     const WidestIndex** index) const;
  TimelineItem activityItem(int row, std::size_t index) const;
  TimelineItem wallItem(int row, std::ptrdiff_t run) const;
  TimelineItem counterItem(int row, std::ptrdiff_t point) const;
  TimelineItem boxItem(int row, std::size_t placement, std::size_t box) const;
  TimelineItem stepItemAt(int row, const TimeView& view, int x) const;
  TimelineItem nextBox(const TimelineItem& item, int direction) const;
  int rowOf(RowKind kind, int device, int track, int lane) const;
  int centreOf(const TimelineWindow& window, int row) const;
  void addTransferArrow(const TimelineWindow& window, int transfer, std::vector<Arrow>& arrows) const;

  std::shared_ptr<const TimelineModel> model_;
  TimelineLayout layout_;
  TimelineOptions options_;
};

/// "F3", "R3", "B3", "U": what a pass of a micro-batch is called in a box.
std::string passLabel(model::Pass pass, int microBatch);

/// The whole time of `view` on a strip: a thin lane per device, showing what it mostly does.
Shapes overview(const TimelineModel& model, const TimeView& view, int height, bool byMicroBatch);

}  // namespace pipescope::geometry
