#pragma once
// Counts what a device holds over time: micro-batches, stash entries and bytes.
#include <vector>

#include "engine/emulate/timeline_writer.h"

namespace pipescope::emulate {

/// A device holds a micro-batch and its stash entry from the start of its forward pass to the end of its last
/// pass. Live bytes are the always-live bytes without stash rings, plus the stash entries in use, plus, while
/// a pass runs, the largest not-always-live bytes of that pass.
class LiveCounters {
 public:
  LiveCounters(const EmulatedExecutable& executable, const ReplicaPart& part, TimelineWriter& writer);

  void enter(int device, int stage) { change(device, stage, 1); }
  void leave(int device, int stage) { change(device, stage, -1); }
  /// Notes that a pass starts now.
  void during(int device, int stage, model::Pass pass);
  /// Notes that the pass of the device has ended now.
  void after(int device);
  /// Writes what is still open at the end of a flush.
  void finish();

 private:
  struct Device {
    int live = 0, stash = 0;
    Bytes stashBytes;
    Bytes written{-1};
    Ticks idleSince;
    Bytes idleBytes;    ///< stash bytes since idleSince
    bool idle = false;  ///< the device is idle since idleSince, and this is not written yet
  };
  void change(int device, int stage, int by);
  void writeIdle(int device);
  void writeBytes(int device, Ticks time, Bytes more);
  bool countsBytes(int device) const {
    const auto d = static_cast<std::size_t>(device);
    return d < part_.liveBytesCounters.size() && part_.liveBytesCounters[d].valid();
  }

  const EmulatedExecutable& executable_;
  const ReplicaPart& part_;
  TimelineWriter& writer_;
  std::vector<Device> devices_;
};

}  // namespace pipescope::emulate
