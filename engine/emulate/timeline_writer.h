#pragma once
// Writes the placements, transfers and waits of one call, and keeps the clock of each device.
#include <vector>

#include "engine/emulate/emulated_executable.h"

namespace pipescope::emulate {

/// The position of a device in time. Up to `free` its time is filled with work or waits.
struct DeviceClock {
  Ticks free;
  model::PlacementId last;  ///< placement that ended last; not valid before the first
  /// The same without loads and stores of streaming memory: the time when results can be sent.
  Ticks ready;
  model::PlacementId readyBy;
  int stage = -1;  ///< first stage on the device; −1: none
};

/// The place of some work in the run.
struct WorkPlace {
  int stage = -1, microBatch = -1, iteration = -1, slot = -1, chunk = 0;
};

/// The compute of all devices, from the first start to the last end.
struct ComputeSpan {
  Ticks start{INT64_MAX}, end{INT64_MIN};
  Ticks busy;  ///< summed over devices
};

class TimelineWriter {
 public:
  /// `clocks` are those of the devices of `part`, by their index in it.
  TimelineWriter(record::Recorder& recorder, const SystemIds& ids, RecordLevel level, model::RunId run,
                 const ReplicaPart& part, std::vector<DeviceClock>& clocks)
      : recorder_(recorder),
        ids_(ids),
        record_(level != RecordLevel::off),
        run_(run),
        part_(part),
        clocks_(clocks) {}

  /// Places the segments one after another, from the free time of the device on.
  void place(int device, const SegmentRefs& segments, const WorkPlace& where);
  void place(int device, const SegmentRef& segment, const WorkPlace& where);
  /// Places a segment on a lane of its own, which the clock of the device does not cover. Moves no clock.
  model::PlacementId placeOnOwnLane(int device, const SegmentRef& segment, Ticks start,
                                    const WorkPlace& where);
  /// Lets the device wait until `until`. Does nothing if its clock is already there.
  void wait(int device, Ticks until, model::WaitCause cause, model::PlacementId waitedFor,
            int waitedForDevice, const WorkPlace& where);
  /// The same for something that a device of another replica has done. `systemDevice` is its index in the
  /// system.
  void waitForReplica(int device, Ticks until, model::WaitCause cause, model::PlacementId waitedFor,
                      int systemDevice, const WorkPlace& where);
  /// Records a transfer; moves no clock.
  void transfer(const BoundaryFlow& flow, Ticks start, Ticks end, model::PlacementId source,
                const WorkPlace& where);
  /// Moves the clock of a device to `until`, because of transfers that transfer() has recorded.
  void occupied(int device, Ticks until);
  void count(model::CounterId counter, Ticks time, double value);

  /// Hands recorded rows on if many have gathered. The recorder keeps an error and reports it at its next
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
  model::Placement rowOf(int device, const SegmentRef& segment, Ticks start, const WorkPlace& where) const;

  model::RunId run_;
  const ReplicaPart& part_;
  std::vector<DeviceClock>& clocks_;
  ComputeSpan computed_;
};

}  // namespace pipescope::emulate
