#pragma once
// What a program that keeps reports between questions does with them. reports.h has the reports themselves.
namespace pipescope::sections {

struct ReportCache;

/// Drops the reports that take much memory, the operations. They are computed again where they are needed.
void forgetLargeReports(ReportCache& reports);

}  // namespace pipescope::sections
