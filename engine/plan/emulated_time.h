#pragma once
// What the emulator says that a compiled run takes, without a record of it.
#include "engine/compile/model/compilation.h"
#include "engine/compile/model/fixed_compiler.h"
#include "profiler/base/result.h"
#include "profiler/base/units.h"

namespace pipescope::plan {

/// Ticks of one call of the run. Errors: those of compileFixed.
base::Result<base::Ticks> callTicks(const compile::FixedRun& run);
/// Ticks of the first call of an executable.
base::Ticks callTicks(const compile::Compilation& compilation, std::size_t executable = 0);

}  // namespace pipescope::plan
