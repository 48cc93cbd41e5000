#pragma once
// Writes a compilation into the rows of a profile.
#include "engine/compiler/compilation.h"
#include "profiler/record/recorder.h"

namespace pipescope::compile {

struct RecordedCompilation {
  emulate::SystemIds ids;
  std::vector<emulate::EmulatedExecutable> executables;
};

/// Records the target, the executables, what the compiler's passes did, and the notices.
RecordedCompilation recordCompilation(record::Recorder& recorder, const Compilation& compilation,
                                      emulate::RecordLevel level);

/// Records which bubble training would have with more micro-batches.
void recordForecast(record::Recorder& recorder, const Compilation& compilation,
                    const RecordedCompilation& recorded);

}  // namespace pipescope::compile
