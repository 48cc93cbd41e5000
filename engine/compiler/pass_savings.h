#pragma once
#include "engine/compile/passes/pass.h"
#include "engine/devices/core/device_family.h"

namespace pipescope::compile {

/// Once the plan is lowered: adds to the passes' reports what devices made of their proposals, and the time
/// that removed operators would have taken.
void addSavings(PassRunner& passes, const ExecutablePlan& plan, const devices::System& system,
                const std::vector<devices::LoweredDevice>& lowered);

}  // namespace pipescope::compile
