#pragma once
// Records a compilation with emulated calls, for figures of configurations that nobody runs.
#include "app/run/request/generation.h"
#include "engine/compiler/compilation.h"
#include "engine/emulate/emulated_executable.h"
#include "profiler/record/recorder.h"

namespace pipescope::app {

/// Records the compilation and two calls of its first executable. The first call may begin with an empty
/// input pipeline; the second one is like all that follow.
void recordTwoCalls(record::Recorder& recorder, const compile::Compilation& compilation,
                    emulate::RecordLevel level);

/// Records the compilation and a whole generation, with what it achieved.
base::Status recordGeneration(record::Recorder& recorder, const compile::Compilation& compilation,
                              const Generation& generation, emulate::RecordLevel level);

}  // namespace pipescope::app
