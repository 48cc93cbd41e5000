#pragma once
#include <QString>

#include "profiler/analysis/timeline/trace.h"
#include "views/shell/dialogs/notice.h"

namespace pipescope::pages {

struct TraceRemarks {
  QString text;  ///< empty if the timeline shows everything
  shell::NoticeKind kind = shell::NoticeKind::info;
};

/// Says what the timeline leaves out, and why: damaged rows, crowded transfers, and other replicas.
TraceRemarks traceRemarks(const analysis::Trace& trace);

}  // namespace pipescope::pages
