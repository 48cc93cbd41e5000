#pragma once
// Tracks and lanes of a trace out of its placements, waits and transfers; used by the loader of trace.h.
#include "profiler/analysis/timeline/trace.h"

namespace pipescope::analysis {

/// Lanes per device, direction and peer, outgoing ones first; of a large trace one lane per direction.
void shareTransfers(Trace& trace);
/// Neighbouring placements of one pass of one micro-batch.
void findPasses(TraceTrack& track);
/// Passes and waits in one list; on the device's first track also what transfers take of the rest.
void listActivities(Trace& trace, const DeviceTrace& device, TraceTrack& track);

}  // namespace pipescope::analysis
