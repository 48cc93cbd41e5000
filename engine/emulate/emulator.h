#pragma once
// The emulated clock: the only place where times are computed.
#include <map>
#include <memory>
#include <vector>

#include "engine/emulate/emulated_executable.h"
#include "engine/emulate/flush.h"
#include "engine/emulate/timeline_writer.h"

namespace pipescope::emulate {

/// Runs calls one after another. All devices share one clock. Placements, transfers and waits go to the
/// recorder; with RecordLevel::off only the clock moves.
class Emulator {
 public:
  Emulator(record::Recorder& recorder, const devices::System& system, const SystemIds& ids,
           RecordLevel level);
  ~Emulator();

  /// Runs one call from the host: the overhead of the call, then facts.iterations flushes with their weight
  /// updates. The samples and wall times of `run` are recorded as given. Returns the recorded run.
  model::Run call(const EmulatedExecutable& executable, model::Run run);
  /// What the devices computed in the last call. It is known at every RecordLevel.
  const ComputeSpan& computed() const { return computed_; }
  /// When the weight update of each iteration of the last call ended.
  const std::vector<Ticks>& iterationEnds() const { return iterationEnds_; }

 private:
  class Call;
  record::Recorder& recorder_;
  const devices::System& system_;
  const SystemIds& ids_;
  RecordLevel level_;
  Ticks now_;
  ComputeSpan computed_;
  std::vector<Ticks> iterationEnds_;
  model::RunId nextRun_{0};
  /// The input pipeline of the executable for a call that starts at `called`.
  HostLoader loaderOf(const EmulatedExecutable& executable, Ticks called);
  /// The work of the host for one step of the executable.
  Ticks hostWork(const EmulatedExecutable& executable) const;
  std::map<model::ExecutableId, HostClock> hosts_;
  std::map<model::ExecutableId, Ticks>
      loaded_;  ///< By executable: when its input pipeline has prepared everything that was asked for so far.
};

}  // namespace pipescope::emulate
