#include "views/pages/parts/trace/trace_follower.h"

#include <algorithm>

#include "views/pages/parts/data/text.h"

namespace pipescope::pages {

using base::Ticks;

namespace {

void renew(std::shared_ptr<shell::SharedProgress>& progress) {
  if (progress) progress->cancel();
  progress = std::make_shared<shell::SharedProgress>();
}

}  // namespace

TraceFollower::TraceFollower(shell::Page& page, shell::PageContext& context, timeline::TimelineCanvas& canvas)
    : QObject(&page), page_(page), context_(context), canvas_(canvas) {}

void TraceFollower::setTrace(const analysis::TraceRequest& request, TimelineModelPointer model) {
  request_ = request;
  model_ = std::move(model);
  near_.reset();
  for (auto* progress : {&windowProgress_, &statisticsProgress_}) {
    if (*progress) (*progress)->cancel();
    progress->reset();
  }
}

void TraceFollower::follow() {
  if (!model_) return;
  if (!canvas_.isNear()) readWindow();
  readStatistics();
}

/// Reads three times the visible part, so that small moves need nothing new. The screen keeps its content
/// until then.
void TraceFollower::readWindow() {
  const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
  if (snapshot == nullptr) return;
  renew(windowProgress_);
  analysis::TraceRequest request = request_;
  const Ticks from = context_.timeRange.start(), to = context_.timeRange.end();
  request.large = near_ ? near_->trace : model_->trace;
  request.from = from - (to - from);
  request.to = to + (to - from);
  page_.readInBackground(
      this,
      [held = *snapshot, request, progress = windowProgress_, counters = model_->counters] {
        return loadTimelineWindow(*held.source, *held.catalog, request, counters, *progress);
      },
      [this, progress = windowProgress_, base = model_](auto&& read) {
        if (progress != windowProgress_ || base != model_) return;
        windowProgress_.reset();
        if (!read.ok()) {
          Q_EMIT failed(text(read.error().message));
          return;
        }
        near_ = *read;
        canvas_.setNear(near_);
        readStatistics();
      });
}

void TraceFollower::readStatistics() {
  const shell::ProfileSnapshot* snapshot = context_.session.snapshot();
  if (snapshot == nullptr || canvas_.scene().empty()) return;
  const std::shared_ptr<const analysis::Trace> shown = canvas_.scene().model()->trace;
  Ticks from = context_.timeRange.start(), to = context_.timeRange.end();
  if (!canvas_.spans().empty()) from = canvas_.spans().back().from, to = canvas_.spans().back().to;
  from = std::max(from, shown->start);
  to = std::max(from, std::min(to, shown->end));
  renew(statisticsProgress_);
  page_.readInBackground(
      this,
      [held = *snapshot, shown, from, to, progress = statisticsProgress_] {
        return loadStatistics(*held.source, *held.catalog, *shown, from, to, *progress);
      },
      [this, base = model_,
       progress = statisticsProgress_](base::Result<std::vector<analysis::RangeStatistics>>&& rows) {
        if (progress != statisticsProgress_ || base != model_ || !rows.ok()) return;
        Q_EMIT statisticsRead(*rows);
      });
}

}  // namespace pipescope::pages
