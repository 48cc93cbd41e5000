#pragma once
#include "engine/compile/ir.h"
#include "engine/devices/core/device_family.h"

namespace pipescope::compile {

/// Samples per second that the host's network brings to each replica, where the host sends ahead
/// (devices::System::sentAheadBytesPerSecond): that of the device whose inputs take longest. 0: the network
/// sets no rate of its own. `samples` are those of a micro-batch.
double networkRate(const ExecutableIr& ir, const devices::System& system, std::int64_t samples);

}  // namespace pipescope::compile
