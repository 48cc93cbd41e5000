#pragma once
// Makes the tracks and lanes of a trace from its placements, waits and transfers, for the loader of trace.h.
#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

/// Makes lanes for each device, peer and direction, outgoing ones first. A large trace has one lane for each
/// direction.
void shareTransfers(Trace& trace);
/// Joins neighbouring placements of one pass of one micro-batch.
void findPasses(TraceTrack& track);
/// Passes and waits in one list. On the device's first track, transfers fill the times between them.
void listActivities(Trace& trace, const DeviceTrace& device, TraceTrack& track);

}  // namespace pipescope::analysis
