#pragma once
// Records which quantities are counted over the time of a replica: live micro-batches, stash entries and live
// bytes. The emulator writes their values (live_counters.h).
#include <vector>

#include "engine/emulate/emulated_executable.h"

namespace pipescope::emulate {

/// Adds the counters of a replica to `part`. `lowered` are the devices of this replica.
void recordCounters(record::Recorder& recorder, const SystemIds& ids, const EmulatedExecutable& executable,
                    const std::vector<devices::LoweredDevice>& lowered, ReplicaPart& part);

}  // namespace pipescope::emulate
