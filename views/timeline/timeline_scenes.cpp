#include "views/timeline/timeline_scenes.h"

#include <algorithm>

namespace pipescope::timeline {

using geometry::TimelineModel;
using geometry::TimelineScene;
using geometry::TimeView;

void TimelineScenes::setWhole(std::shared_ptr<const TimelineModel> model) {
  wholeModel_ = std::move(model);
  detailModel_.reset();
}

void TimelineScenes::setDetail(std::shared_ptr<const TimelineModel> model) {
  detailModel_ = std::move(model);
}

void TimelineScenes::layOut(const geometry::TimelineOptions& options, const geometry::RowMetrics& metrics) {
  geometry::TimelineLayout layout;
  if (wholeModel_) layout = geometry::layOutTimeline(*wholeModel_, options, metrics);
  detail_ = detailModel_ ? TimelineScene(detailModel_, layout, options) : TimelineScene();
  whole_ = wholeModel_ ? TimelineScene(wholeModel_, std::move(layout), options) : TimelineScene();
  showsDetail_ = false;
}

bool TimelineScenes::choose(const TimeView& view) {
  bool covers = detailModel_ != nullptr;
  if (covers) {
    const analysis::Trace& trace = *detailModel_->trace;
    covers = std::max(view.start(), trace.start) >= trace.loadedFrom &&
             std::min(view.end(), trace.end) <= trace.loadedTo;
  }
  return std::exchange(showsDetail_, covers) != covers;
}

bool TimelineScenes::isFine(const TimeView& view) const {
  if (!wholeModel_ || !wholeModel_->trace->large) return true;
  const analysis::Trace& trace = *shown().model()->trace;
  const bool summary = trace.far || trace.farSteps;
  if (!showsDetail_ || !summary) return !summary;
  // A part that was too long for single steps may be read in full once the view shows much less of it.
  constexpr double kFiner = 4;
  const double loaded = static_cast<double>((trace.loadedTo - trace.loadedFrom).count);
  return view.span() * kFiner > loaded || loaded <= TimeView::kShortest * kFiner;
}

}  // namespace pipescope::timeline
