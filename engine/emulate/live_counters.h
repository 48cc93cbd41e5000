#pragma once
// Counters of what a device holds over time: micro-batches, stash entries, bytes.
#include <vector>

#include "engine/emulate/timeline_writer.h"

namespace pipescope::emulate {

/// A micro-batch is held from the start of its forward to the end of its last pass; so is its stash entry.
/// Live bytes are those always live without stash rings, stash entries in use, and, while a pass runs, its
/// peak of not-always-live bytes.
class LiveCounters {
 public:
  LiveCounters(const Executable& executable, const ReplicaPart& part, TimelineWriter& writer);

  void enter(int device, int stage) { change(device, stage, 1); }
  void leave(int device, int stage) { change(device, stage, -1); }
  /// A pass starts now.
  void during(int device, int stage, model::Pass pass);
  /// The device's pass has ended now.
  void after(int device);
  /// Writes what is still open, at the end of a flush.
  void finish();

 private:
  struct Device {
    int live = 0, stash = 0;
    Bytes stashBytes;
    Bytes written{-1};
    Ticks idleSince;
    Bytes idleBytes;    ///< of the stash then
    bool idle = false;  ///< since idleSince, not written yet
  };
  void change(int device, int stage, int by);
  void writeIdle(int device);
  void writeBytes(int device, Ticks time, Bytes more);
  bool countsBytes(int device) const {
    const auto d = static_cast<std::size_t>(device);
    return d < part_.liveBytesCounters.size() && part_.liveBytesCounters[d].valid();
  }

  const Executable& executable_;
  const ReplicaPart& part_;
  TimelineWriter& writer_;
  std::vector<Device> devices_;
};

}  // namespace pipescope::emulate
