#pragma once
// Tables about the host's spans, of the whole recording or of a part of it.
#include <string>
#include <vector>

#include "profiler/analysis/host/host_statistics.h"
#include "profiler/sections/frame/section.h"

namespace pipescope::sections {

/// Nanoseconds of wall time as seconds.
double hostSeconds(base::Ticks time);
/// A row for each use, in the same order.
SectionTable hostNameTable(const analysis::HostTimeline& timeline,
                           const std::vector<analysis::HostNameUse>& uses, const std::string& basis);
/// A row for each node, in the same order.
SectionTable hostTreeTable(const analysis::HostTimeline& timeline,
                           const std::vector<analysis::HostTreeNode>& tree, const std::string& basis);
/// A row for each series.
SectionTable hostSeriesTable(const analysis::HostTimeline& timeline);

}  // namespace pipescope::sections
