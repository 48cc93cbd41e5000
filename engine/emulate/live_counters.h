#pragma once
// Counts what a place holds over time: micro-batches, stash entries and bytes.
#include <vector>

#include "engine/emulate/emulated_executable.h"

namespace pipescope::emulate {

/// A place holds a micro-batch and its stash entry from the start of its forward pass to the end of its last
/// pass. Live bytes are the always-live bytes without stash rings, plus the stash entries in use, plus, while
/// a pass runs, the largest not-always-live bytes of that pass, which may hold the entry of its micro-batch.
class LiveCounters {
 public:
  LiveCounters(record::Recorder& recorder, const EmulatedExecutable& executable, const ReplicaPart& part,
               model::RunId run);

  void enter(int place, int stage, Ticks now) { change(place, stage, 1, now); }
  void leave(int place, int stage, Ticks now) { change(place, stage, -1, now); }
  /// Notes that a pass starts now.
  void during(int place, int stage, model::Pass pass, Ticks now);
  /// Notes that the pass of the place has ended now.
  void after(int place, Ticks now);
  /// Writes what is still open at the end of a flush.
  void finish();

 private:
  struct Held {
    int live = 0, stash = 0;
    Bytes stashBytes;
    Bytes written{-1};
    Ticks idleSince;
    Bytes idleBytes;    ///< stash bytes since idleSince
    bool idle = false;  ///< the place is idle since idleSince, and this is not written yet
  };
  void change(int place, int stage, int by, Ticks now);
  void writeIdle(int place);
  void writeBytes(int place, Ticks time, Bytes more);
  void count(model::CounterId counter, Ticks time, double value);
  bool countsBytes(int place) const {
    const auto p = static_cast<std::size_t>(place);
    return p < part_.liveBytesCounters.size() && part_.liveBytesCounters[p].valid();
  }

  record::Recorder& recorder_;
  const EmulatedExecutable& executable_;
  const ReplicaPart& part_;
  model::RunId run_;
  std::vector<Held> places_;
};

}  // namespace pipescope::emulate
