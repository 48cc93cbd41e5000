#pragma once
// Records what happens in a call: placements, transfers, waits, and counters of what places hold.
#include <vector>

#include "engine/emulate/emulated_executable.h"
#include "engine/emulate/live_counters.h"
#include "profiler/clock/sink.h"

namespace pipescope::emulate {

class RowWriter : public clock::Sink {
 public:
  RowWriter(record::Recorder& recorder, const EmulatedExecutable& executable, model::RunId run);

  model::PlacementId placed(int replica, int place, const clock::Piece& piece, Ticks start,
                            const clock::WorkOf& work) override;
  void transferred(int replica, int flow, Ticks start, Ticks end, model::PlacementId from,
                   const clock::WorkOf& work) override;
  void waited(const clock::Wait& wait) override;
  void forwardStarts(int replica, int place, const clock::Task& task, Ticks now) override;
  void taskEnds(int replica, int place, const clock::Task& task, Ticks now) override;
  void flushEnds(int replica) override;
  /// Hands recorded rows on if many have gathered. The recorder keeps an error and reports it at its next
  /// commit.
  void pause() override { (void)recorder_.commitIfDue(true); }

 private:
  struct Replica {
    const clock::ReplicaCosts& costs;
    LiveCounters live;
  };
  Replica& of(int replica) { return replicas_[static_cast<std::size_t>(replica)]; }

  record::Recorder& recorder_;
  const EmulatedExecutable& executable_;
  model::RunId run_;
  std::vector<Replica> replicas_;
};

}  // namespace pipescope::emulate
