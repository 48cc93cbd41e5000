#pragma once
// Values of the model, such as its loss, over the wall time of the host.
#include <memory>
#include <string>
#include <vector>

#include "profiler/analysis/catalog.h"
#include "profiler/analysis/host/host_timeline.h"

namespace pipescope::analysis {

/// Adds counters of the whole run as pinned curves: those of the executable that have one of these names. A
/// value lies at the wall time that belongs to its time on the devices, so that of a call lies at the call's
/// end. A timeline without work of the host, or without calls, stays as it is.
base::Result<std::shared_ptr<const HostTimeline>> withMetrics(
    std::shared_ptr<const HostTimeline> timeline, const model::ProfileSource& source, const Catalog& catalog,
    model::ExecutableId executable, const std::vector<std::string>& names, base::Progress& progress);

}  // namespace pipescope::analysis
