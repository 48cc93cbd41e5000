#pragma once
// Runs the clock for a compiled executable and records what it says.
#include <map>
#include <vector>

#include "engine/emulate/emulated_executable.h"
#include "profiler/clock/run.h"

namespace pipescope::emulate {

/// Runs calls one after another. All devices share one clock. Placements, transfers and waits go to the
/// recorder; with RecordLevel::off only the clock moves.
class Emulator {
 public:
  Emulator(record::Recorder& recorder, const devices::System& system, const SystemIds& ids, RecordLevel level)
      : recorder_(recorder), system_(system), ids_(ids), level_(level) {}

  /// Runs one call from the host: the overhead of the call, then facts.iterations flushes with their weight
  /// updates. The samples and wall times of `run` are recorded as given. Returns the recorded run.
  /// `sink` is told what happens instead of the recorder; null: the recorder is.
  model::Run call(const EmulatedExecutable& executable, model::Run run, clock::Sink* sink = nullptr);
  /// Span in which the devices computed in the last call. It is known at every RecordLevel.
  const clock::ComputeSpan& computed() const { return times_.computed; }
  /// Times at which the weight update of each iteration of the last call ended.
  const std::vector<Ticks>& iterationEnds() const { return times_.iterationEnds; }

 private:
  record::Recorder& recorder_;
  const devices::System& system_;
  const SystemIds& ids_;
  RecordLevel level_;
  Ticks now_;
  clock::CallTimes times_;  ///< times of the last call
  model::RunId nextRun_{0};
  /// Starts the input pipeline of the executable for a call that begins now.
  void startLoader(const EmulatedExecutable& executable, clock::Host& host);
  /// Returns the work of the host during a call of the executable that begins now.
  clock::Host hostOf(const EmulatedExecutable& executable);
  std::map<model::ExecutableId, clock::HostState> hosts_;
  /// Time at which each executable's input pipeline has prepared everything that was asked for so far.
  std::map<model::ExecutableId, Ticks> loaded_;
};

}  // namespace pipescope::emulate
