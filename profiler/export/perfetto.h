#pragma once
#include "profiler/export/chrome.h"

namespace pipescope::exporting {

/// Writes Perfetto's protobuf format with interned names. A device is a process; a lane, the passes and the
/// transfers are tracks. Times are in nanoseconds, as the format wants. Streams: memory does not grow with
/// the number of placements, only with that of transfers.
base::Status exportPerfetto(const ChromeRequest& request, const Writer& write, base::Progress& progress);

}  // namespace pipescope::exporting
