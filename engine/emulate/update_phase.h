#pragma once
// What follows a flush: sums of gradients over replicas, then weight updates. Replicas wait for each other
// here and nowhere else.
#include <memory>
#include <vector>

#include "engine/emulate/flush.h"

namespace pipescope::emulate {

/// A recorded replica while it runs: the clocks of its devices and its flush.
struct RunningPart {
  RunningPart(const EmulatedExecutable& executable, const ReplicaPart& part, const devices::System& system,
              record::Recorder& recorder, const SystemIds& ids, RecordLevel level, model::RunId run,
              Ticks now);

  void setLoader(const HostLoader& loader);
  const FlushBase& flush() const { return barrier ? static_cast<const FlushBase&>(*barrier) : *dependency; }
  DeviceClock& clock(int device) { return clocks[static_cast<std::size_t>(device)]; }
  int systemDevice(int device) const { return part.firstDevice + device; }
  /// The device that is done last.
  int slowest() const;
  /// Lets all devices wait for the slowest.
  void align(model::WaitCause cause, const WorkPlace& where);

  const ReplicaPart& part;
  std::vector<DeviceClock> clocks;
  TimelineWriter writer;
  std::unique_ptr<BarrierFlush> barrier;  ///< one of the two is set, by the progression of the order
  std::unique_ptr<DependencyFlush> dependency;
};
using RunningParts = std::vector<std::unique_ptr<RunningPart>>;

class UpdatePhase {
 public:
  UpdatePhase(const EmulatedExecutable& executable, RunningParts& parts)
      : executable_(executable), parts_(parts) {}
  void run(int iteration);

 private:
  /// Lets each device wait for the device that holds the same stages and also has gradients to add
  /// (DualPipe).
  void meetMirrored(int iteration);
  /// Runs the update of one device in all replicas. Returns false if the device has nothing to update.
  bool updateDevice(int device, int iteration);
  /// A collective that runs beside the backward pass of the last micro-batch.
  struct Overlapped {
    int stage = 0;
    std::size_t index = 0;        ///< in the list of the stage
    Ticks ready, ticks;           ///< when all replicas have its gradients; how long it takes
    RunningPart* late = nullptr;  ///< the replica whose gradients come last
  };
  /// The collectives of all stages of the device, in the order in which they become ready.
  std::vector<Overlapped> overlappedOf(int device) const;
  /// Places these collectives one after another, because a device has one lane for them. Afterwards the
  /// device has waited for the last one.
  void finishOverlapped(int device, int iteration);
  /// Places item `index` of the list of the stage in all replicas. At a collective the replicas wait for the
  /// last of them.
  void placeAll(int device, int stage, std::size_t index, const WorkPlace& where);
  const StageSegments& segments(const RunningPart& part, int stage) const {
    return part.part.stages[static_cast<std::size_t>(stage)];
  }

  /// The backward pass of the last micro-batch.
  const SegmentRefs& lastBackward(const RunningPart& part, int stage) const {
    const auto last = static_cast<int>(executable_.facts.microBatches) - 1;
    return executable_.segments(part.part, stage, last).backward;
  }

  const EmulatedExecutable& executable_;
  RunningParts& parts_;
};

}  // namespace pipescope::emulate
