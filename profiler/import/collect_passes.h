#pragma once
#include <vector>

#include "profiler/import/recorded_passes.h"
#include "profiler/import/rules.h"
#include "profiler/import/trace_reader.h"

namespace pipescope::importing {

/// True if the event is a pass of a stage, or a weight update, of which RecordedPasses writes the rows.
bool isPass(const Meaning& meaning);

/// Returns the passes of a trace with their steps, in the trace's own clock. Devices and lanes are those of
/// the trace (process and thread), not of a profile.
base::Result<std::vector<RecordedPass>> collectPasses(TraceData& trace, const Rules& rules);

}  // namespace pipescope::importing
