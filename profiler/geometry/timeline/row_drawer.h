#pragma once
#include "profiler/geometry/timeline/timeline_scene.h"

namespace pipescope::geometry {

/// Adds the shapes of a window's rows. The cost depends on the pixels of the window, not on the length of the
/// trace.
class RowDrawer {
 public:
  /// All arguments must outlive the drawer.
  RowDrawer(const TimelineScene& scene, const TimelineWindow& window, const TextMeasure& measure,
            Shapes& shapes);

  void draw(const TimelineRow& row);

 private:
  Columns all() const;
  void drawActivities(const TimelineRow& row);
  void drawPass(const analysis::TraceTrack& track, const analysis::Activity& shown, const Folded& folded);
  void drawFar(const analysis::FarSpan& span, const Folded& folded);
  void drawWait(const model::Wait& wait, const Folded& folded);
  void drawWait(model::WaitCause cause, const Folded& folded);
  void drawSteps(const TimelineRow& row);
  void drawPlacementSteps(const TimelineRow& row, const analysis::TracePlacement& placement,
                          const Folded& folded);
  void drawTiles(const TimelineRow& row);
  void drawPlacementTiles(const TimelineRow& row, const analysis::TracePlacement& placement,
                          const Folded& folded);
  void drawTileStep(const TimelineRow& row, const analysis::TracePlacement& placement, std::size_t place,
                    const analysis::FlameBox& box, const Folded& folded);
  void drawWall();
  void drawTransfers(const TimelineRow& row);
  void drawCounter(const analysis::CounterSeries& series);
  /// The colour of a role if nothing is looked for, else that of what was not found.
  ColourRole dimmed(ColourRole role) const;
  /// The colour of the boxes [first, end) of a placement, drawn as `shown`.
  ColourRole stepRole(const TimelineRow& row, const analysis::TracePlacement& placement,
                      const analysis::FlameRow& boxes, const Folded& folded) const;
  void box(ColourRole role, const Folded& folded, const std::string& text, bool path = false);
  void label(const Box& box, const std::string& text, ColourRole role, bool hatched, bool path = false);

  const TimelineScene& scene_;
  const analysis::Trace& trace_;
  const TimelineWindow& window_;
  const TimeView& view_;
  const TextMeasure& measure_;
  Shapes& shapes_;
  int y_ = 0, height_ = 0;  ///< place of the row that is drawn
};

/// The colour of a placement: of its pass, or of its micro-batch if it has one.
ColourRole passRole(const analysis::TracePlacement& placement, bool byMicroBatch);

}  // namespace pipescope::geometry
