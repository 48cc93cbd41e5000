#pragma once
// Operations on kept reports, for programs that keep them between questions. The reports themselves are
// declared in reports.h.
namespace pipescope::sections {

struct ReportCache;

/// Drops the reports that take much memory, the operations. They are computed again where they are needed.
void forgetLargeReports(ReportCache& reports);

}  // namespace pipescope::sections
