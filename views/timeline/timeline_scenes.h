#pragma once
#include <memory>

#include "profiler/geometry/timeline/timeline_scene.h"

namespace pipescope::timeline {

/// A large trace is read twice: the whole in summary, and the part around the view in detail. This class
/// keeps both with the same rows, and shows the detail wherever it covers the view.
class TimelineScenes {
 public:
  /// Shows another trace, or null. Forgets its detail.
  void setWhole(std::shared_ptr<const geometry::TimelineModel> model);
  /// A part of the same trace in full detail, or null.
  void setDetail(std::shared_ptr<const geometry::TimelineModel> model);
  void layOut(const geometry::TimelineOptions& options, const geometry::RowMetrics& metrics);

  /// Chooses what to show for a view. True where that is another scene than before.
  bool choose(const geometry::TimeView& view);
  const geometry::TimelineScene& shown() const { return showsDetail_ ? detail_ : whole_; }
  const geometry::TimelineModel* whole() const { return wholeModel_.get(); }
  /// The view shows single passes and steps, or nothing finer can be read.
  bool isFine(const geometry::TimeView& view) const;

 private:
  std::shared_ptr<const geometry::TimelineModel> wholeModel_, detailModel_;
  geometry::TimelineScene whole_, detail_;
  bool showsDetail_ = false;
};

}  // namespace pipescope::timeline
