#pragma once
// Lowers a compilation once more, for a system with other figures.
#include <string>
#include <vector>

#include "engine/compiler/compilation.h"
#include "engine/compiler/lowered_stages.h"
#include "profiler/base/executor.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

/// Lowers all executables for this system, in place. The system may differ from that of the compilation in
/// its figures of speed only, because IRs, orders and places stay. The savings of compiler passes stay those
/// of the first system. Errors: there is no such system, it has other devices, or a device cannot hold its
/// stages. After an error, the compilation is of no use.
base::Status lowerAgain(Compilation& compilation, const std::string& system, base::Executor& executor);

/// Lowers the stages of an IR, one place after another. `known` may be null.
base::Result<std::vector<devices::LoweredDevice>> lowerStages(const ExecutableIr& ir,
                                                              const devices::System& system,
                                                              base::Executor& executor,
                                                              LoweredStages* known = nullptr);

}  // namespace pipescope::compile
