#include "app/plan/emulated_calls.h"

#include <fmt/format.h>

#include "engine/compiler/record_compilation.h"
#include "engine/emulate/emulator.h"

namespace pipescope::app {
namespace {

std::int64_t samplesOfCall(const compile::CompiledExecutable& executable) {
  const emulate::ExecutableFacts& facts = executable.facts;
  if (executable.graph == nullptr) return 0;  // costs are given, so there are no samples
  return facts.microBatchSize * facts.microBatches * facts.iterations * facts.replicas / facts.inputGroup;
}

}  // namespace

void recordTwoCalls(record::Recorder& recorder, const compile::Compilation& compilation,
                    emulate::RecordLevel level) {
  const compile::RecordedCompilation recorded = compile::recordCompilation(recorder, compilation, level);
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, level);
  for (const char* name : {"call 1", "call 2"}) {
    model::Run run;
    run.name = name;
    run.samples = samplesOfCall(compilation.executables.front());
    emulator.call(recorded.executables.front(), run);
  }
}

base::Status recordGeneration(record::Recorder& recorder, const compile::Compilation& compilation,
                              const Generation& generation, emulate::RecordLevel level) {
  const compile::RecordedCompilation recorded = compile::recordCompilation(recorder, compilation, level);
  emulate::Emulator emulator(recorder, *compilation.system, recorded.ids, level);
  const auto call = [&](std::size_t executable, std::int64_t token) -> base::Result<model::Run> {
    model::Run run;
    run.name = fmt::format("token {}", token);
    run.samples = samplesOfCall(compilation.executables[executable]);
    return emulator.call(recorded.executables[executable], run);
  };
  PIPESCOPE_ASSIGN(const std::vector<model::Outcome> outcomes,
                   generate(generation, samplesOfCall(compilation.executables.front()),
                            base::Timebase{compilation.system->devices().front().ticksPerSecond}, call));
  for (model::Outcome outcome : outcomes) {
    outcome.executable = recorded.executables.front().id;
    recorder.add(std::move(outcome));
  }
  return {};
}

}  // namespace pipescope::app
