#pragma once
// The compiler's passes over one executable (engine/compile/passes): which run, and what they saved on its
// devices.
#include "engine/compile/passes/pass.h"
#include "engine/compile/placement.h"
#include "engine/config/configuration.h"
#include "engine/devices/core/device_family.h"
#include "profiler/record/recorder.h"

namespace pipescope::app {

/// Those that [compile] leaves on.
compile::PassRunner compilerPasses(const config::Configuration& configuration,
                                   const std::vector<compile::StageSpec>& stages);

/// Once the plan is lowered: adds what devices made of the passes' proposals, and the time that operators
/// which no longer run would have taken.
void addSavings(compile::PassRunner& passes, const compile::ExecutablePlan& plan,
                const devices::System& system, const std::vector<devices::LoweredDevice>& lowered);

void recordPasses(record::Recorder& recorder, model::ExecutableId executable,
                  const std::vector<compile::PassReport>& reports);

}  // namespace pipescope::app
