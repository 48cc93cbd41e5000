#pragma once
// Writes what the emulator decides: placements, transfers and waits of one call, and each device's position
// in time.
#include <vector>

#include "engine/emulate/executable.h"

namespace pipescope::emulate {

/// Where a device stands: it is busy or explained up to `free`.
struct DeviceClock {
  Ticks free;
  model::PlacementId last;  ///< placement that ended last; none before the first
  /// The same without loads and stores of streaming memory: when results are there to be sent.
  Ticks ready;
  model::PlacementId readyBy;
  int stage = -1;  ///< first stage the device holds; −1: none
};

/// What a micro-batch's work belongs to.
struct Where {
  int stage = -1, microBatch = -1, iteration = -1, slot = -1, chunk = 0;
};

/// What devices compute, from the first start to the last end.
struct ComputeSpan {
  Ticks start{INT64_MAX}, end{INT64_MIN};
  Ticks busy;  ///< sum over devices
};

class TimelineWriter {
 public:
  /// `part`'s devices have the clocks, by their place in it.
  TimelineWriter(record::Recorder& recorder, const SystemIds& ids, RecordLevel level, model::RunId run,
                 const ReplicaPart& part, std::vector<DeviceClock>& clocks)
      : recorder_(recorder),
        ids_(ids),
        record_(level != RecordLevel::off),
        run_(run),
        part_(part),
        clocks_(clocks) {}

  /// Places the segments one after another from the device's free time on.
  void place(int device, const SegmentRefs& segments, const Where& where);
  /// Places a segment on a lane of its own, beside what the device's clock stands for; moves no clock.
  model::PlacementId placeBeside(int device, const SegmentRef& segment, Ticks start, const Where& where);
  /// The device idles until `until`, which nothing does if it is already there.
  void wait(int device, Ticks until, model::WaitCause cause, model::PlacementId waitedFor,
            int waitedForDevice, const Where& where);
  /// The same for what a device of another replica has done; its index in the system.
  void waitForReplica(int device, Ticks until, model::WaitCause cause, model::PlacementId waitedFor,
                      int systemDevice, const Where& where);
  /// Records a transfer; moves no clock.
  void transfer(const BoundaryFlow& flow, Ticks start, Ticks end, model::PlacementId source,
                const Where& where);
  /// A device is taken up to `until` by transfers that transfer() recorded.
  void occupied(int device, Ticks until);
  void count(model::CounterId counter, Ticks time, double value);

  /// Hands rows on where many have gathered. An error stays with the recorder, which reports it at its next
  /// commit.
  void commitIfDue() { (void)recorder_.commitIfDue(true); }
  bool records() const { return record_; }
  const ComputeSpan& computed() const { return computed_; }

  DeviceClock& clock(int device) { return clocks_[static_cast<std::size_t>(device)]; }

 private:
  record::Recorder& recorder_;
  const SystemIds& ids_;
  bool record_;
  model::DeviceId deviceId(int device) const {
    return ids_.devices[static_cast<std::size_t>(part_.firstDevice + device)];
  }
  model::Placement rowOf(int device, const SegmentRef& segment, Ticks start, const Where& where) const;

  model::RunId run_;
  const ReplicaPart& part_;
  std::vector<DeviceClock>& clocks_;
  ComputeSpan computed_;
};

}  // namespace pipescope::emulate
