#pragma once
// The emulated clock of a program's devices, together with the rows that it records. Used by Program and
// Device.
#include <memory>

#include "engine/compiler/record_compilation.h"
#include "engine/emulate/emulator.h"

namespace pipescope::run {

/// Drops all rows.
class NoSink : public record::Sink {
 public:
  base::Status commit(const model::RowSet&) override { return {}; }
  base::Status finish(model::ProfileState, const std::string&) override { return {}; }
};

struct Emulation {
  Emulation(const compile::Compilation& what, record::Sink& sink, emulate::RecordLevel records)
      : compilation(what), level(records), recorder(sink) {}
  /// Records the target, the executables and their programs, and starts the clock.
  void load() {
    recorded = compile::recordCompilation(recorder, compilation, level);
    emulator = std::make_unique<emulate::Emulator>(recorder, *compilation.system, recorded.ids, level);
  }
  double seconds(base::Ticks ticks) const {
    return base::toSeconds(ticks, base::Timebase{compilation.system->devices().front().ticksPerSecond});
  }

  const compile::Compilation& compilation;
  emulate::RecordLevel level;
  record::Recorder recorder;
  compile::RecordedCompilation recorded;
  std::unique_ptr<emulate::Emulator> emulator;  ///< null before load()
};

}  // namespace pipescope::run
