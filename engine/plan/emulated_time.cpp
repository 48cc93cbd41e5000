#include "engine/plan/emulated_time.h"

#include "engine/emulate/emulator.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::plan {
namespace {

/// The segments of a device without what they consist of. Times depend on nothing else.
devices::LoweredDevice lengthsOf(const devices::LoweredDevice& device) {
  devices::LoweredDevice lengths;
  lengths.device = device.device;
  for (const devices::LoweredPass& pass : device.passes) {
    devices::LoweredPass& own = lengths.passes.emplace_back();
    own.stage = pass.stage;
    own.pass = pass.pass;
    for (const devices::LoweredSegment& segment : pass.segments)
      own.segments.push_back({{}, segment.lane, segment.ticks, {}, segment.pass, segment.after});
  }
  return lengths;
}

}  // namespace

base::Ticks callTicks(const compile::Compilation& compilation, std::size_t executable) {
  record::MemoryProfile nowhere;
  record::Recorder recorder(nowhere);
  constexpr auto kLevel = emulate::RecordLevel::off;
  const emulate::SystemIds ids =
      emulate::recordSystem(recorder, *compilation.system, compilation.devicesWithStages());
  const compile::CompiledExecutable& compiled = compilation.executables[executable];
  std::vector<devices::LoweredDevice> lengths;
  for (const devices::LoweredDevice& device : compiled.lowered) lengths.push_back(lengthsOf(device));
  const emulate::EmulatedExecutable emulated = emulate::recordExecutable(
      recorder, *compilation.system, ids, compiled.plan, lengths, compiled.order, compiled.facts, kLevel);
  emulate::Emulator emulator(recorder, *compilation.system, ids, kLevel);
  const model::Run run = emulator.call(emulated, {});
  return run.end - run.start;
}

base::Result<base::Ticks> callTicks(const compile::FixedRun& run) {
  PIPESCOPE_ASSIGN(const compile::Compilation compilation, compile::compileFixed(run));
  return callTicks(compilation);
}

}  // namespace pipescope::plan
