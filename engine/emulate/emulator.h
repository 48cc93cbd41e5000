#pragma once
// The emulated clock: the only place where times are computed.
#include <map>
#include <memory>
#include <vector>

#include "engine/emulate/executable.h"
#include "engine/emulate/flush.h"
#include "engine/emulate/timeline_writer.h"

namespace pipescope::emulate {

/// Runs calls one after another on the clock that its devices share. What it places, transfers and waits for
/// goes to the recorder; with RecordLevel::off only the clock moves.
class Emulator {
 public:
  Emulator(record::Recorder& recorder, const devices::System& system, const SystemIds& ids,
           RecordLevel level);
  ~Emulator();

  /// One call from the host: call overhead, then facts.iterations flushes with their weight updates. The
  /// run's samples and wall times are recorded as given. Returns the recorded run.
  model::Run call(const Executable& executable, model::Run run);
  /// What devices computed in the last call, whatever is recorded.
  const ComputeSpan& computed() const { return computed_; }

 private:
  class Call;
  record::Recorder& recorder_;
  const devices::System& system_;
  const SystemIds& ids_;
  RecordLevel level_;
  Ticks now_;
  ComputeSpan computed_;
  model::RunId nextRun_{0};
  /// The input pipeline of the executable in a call from `called` on.
  Loader loaderOf(const Executable& executable, Ticks called);
  std::map<model::ExecutableId, Ticks>
      loaded_;  ///< when each executable's has prepared what was wanted so far
};

}  // namespace pipescope::emulate
