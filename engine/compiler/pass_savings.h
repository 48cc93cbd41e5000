#pragma once
#include <string>

#include "engine/compile/passes/pass.h"
#include "engine/devices/core/device_family.h"

namespace pipescope::compile {

/// True if devices of the system can act on what the pass of this name does.
bool usesPass(const devices::System& system, const std::string& name);

/// Adds to the passes' reports what devices made of their proposals, and the time that removed operators
/// would have taken. The IR must be lowered.
void addSavings(PassRunner& passes, const ExecutableIr& ir, const devices::System& system,
                const std::vector<devices::LoweredDevice>& lowered);

}  // namespace pipescope::compile
