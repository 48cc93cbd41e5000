#pragma once
#include "profiler/analysis/catalog.h"
#include "profiler/base/progress.h"
#include "profiler/export/writer.h"

namespace pipescope::exporting {

/// Writes a picture of the executable's last call: the timeline that the window draws, `width` pixels wide,
/// with titles of devices and lanes on its left and the meaning of the colours below it.
base::Status exportSvg(const model::ProfileSource& source, const analysis::Catalog& catalog,
                       model::ExecutableId executable, const Writer& write, base::Progress& progress,
                       int width = 1600);

}  // namespace pipescope::exporting
