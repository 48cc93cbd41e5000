#pragma once
#include <QObject>

#include "views/pages/parts/trace/trace_loading.h"
#include "views/shell/page.h"
#include "views/timeline/timeline_canvas.h"

namespace pipescope::pages {

/// Reads what the visible part of a timeline needs on workers: its detail if the trace is large, and its
/// statistics.
class TraceFollower : public QObject {
  Q_OBJECT

 public:
  /// All arguments must outlive the reader.
  TraceFollower(shell::Page& page, shell::PageContext& context, timeline::TimelineCanvas& canvas);

  /// Another trace, or null.
  void setTrace(const analysis::TraceRequest& request, TimelineModelPointer model);
  /// Reads what the visible part and its statistics need. A newer question replaces an older one.
  void follow();

 Q_SIGNALS:
  /// Statistics of the measured span, or else of the visible time.
  void statisticsRead(const std::vector<analysis::RangeStatistics>& rows);
  void failed(const QString& sentence);

 private:
  void readWindow();
  void readStatistics();

  shell::Page& page_;
  shell::PageContext& context_;
  timeline::TimelineCanvas& canvas_;
  analysis::TraceRequest request_;
  TimelineModelPointer model_, near_;
  std::shared_ptr<shell::SharedProgress> windowProgress_, statisticsProgress_;
};

}  // namespace pipescope::pages
