#include "engine/plan/emulated_time.h"

#include "engine/compile/model/record_compilation.h"
#include "engine/emulate/emulator.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::plan {

base::Ticks callTicks(const compile::Compilation& compilation, std::size_t executable) {
  record::MemoryProfile nowhere;
  record::Recorder recorder(nowhere);
  const compile::RecordedCompilation recorded =
      compile::recordCompilation(recorder, compilation, emulate::RecordLevel::off);
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, emulate::RecordLevel::off);
  const model::Run run = emulator.call(recorded.executables[executable], {});
  return run.end - run.start;
}

base::Result<base::Ticks> callTicks(const compile::FixedRun& run) {
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, compile::compileFixed(run));
  return callTicks(compilation);
}

}  // namespace pipescope::plan
